// Package fingerprint says when two requests are the same request.
//
// An idempotency key names an operation, and nothing in the key says what was
// asked for. A fingerprint does: it is kept with the record, and a retry that
// carries the key but another fingerprint is refused instead of being answered
// with the result of something else. [Of] computes one from what was sent; a
// caller that knows better, such as a consumer with an event id, sends a text
// of its own, which [Validate] checks and which is compared as it is.
//
// # The same request
//
// Two requests have the same fingerprint when all of these are the same:
//
//   - the method and the target, byte for byte. The target includes the query
//     string as sent: another order of parameters, %20 for +, or a trailing
//     "?" is another request;
//   - the content type: type and subtype without regard to case, parameters as
//     sent. "charset=utf-8" alone on a JSON type counts as no parameter, since
//     JSON has no other charset (RFC 8259, section 8.1);
//   - the header lines given, which are the lines the caller chose to compare:
//     names without regard to case, values byte for byte, and how many lines
//     there are. Lines of one name keep their order; the order between
//     different names means nothing in HTTP (RFC 9110, section 5.3), and Go's
//     http.Header does not keep it, so it does not count;
//   - the body, byte for byte, or for a JSON body its canonical form.
//
// What is absent and what is empty are the same, in every field: no body is an
// empty body, as on the wire of HTTP. A header line with an empty value is still a
// line.
//
// # JSON bodies
//
// A body is taken as JSON when its content type is application/json or ends in
// +json. [Canonical] then sorts members and removes the freedom in whitespace
// and escapes, as RFC 8785 does, but it keeps the text of numbers: RFC 8785
// rounds them to float64, and 9007199254740993 and 9007199254740992 are two
// amounts. A JSON body that is not strictly valid counts byte for byte, and is
// never the same as a valid one. So does an empty one.
//
// # What is not normalised
//
// Everything else is compared as it is: the case of methods, percent-encoding,
// the order of parameters in queries and forms, spellings of one number (1,
// 1.0 and 1e0), Unicode normalisation forms, content codings such as gzip, and
// a multipart body, whose boundary is usually fresh on every attempt. Such a
// caller sends its own fingerprint.
//
// A fingerprint is no secret and no proof: anyone who can guess the request can
// compute it.
//
// The hashed bytes are described in testdata/README.md, with test vectors for
// other languages. They never change under the name v1.
package fingerprint
