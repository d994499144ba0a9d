package httpapi_test

// operatorLimits are those of what an operator gives.
func operatorLimits() (rows []row) {
	for _, call := range operatorCalls {
		rows = append(rows, rowsOf(call,
			edge{"reason/shortest", fields{"reason": "x"}, ""},
			edge{"reason/longest", fields{"reason": x(1000)}, ""},
			edge{"reason/lines", fields{"reason": "a\n\tb"}, ""},
			edge{"reason/empty", fields{"reason": ""}, "reason"},
			edge{"reason/omitted", fields{"reason": omitted}, "reason"},
			edge{"reason/null", fields{"reason": nil}, "reason"},
			edge{"reason/too-long", fields{"reason": x(1001)}, "reason"},
			edge{"reason/too-long-two-byte", fields{"reason": é(1002)}, "reason"},
			edge{"reason/nul", fields{"reason": "a\x00b"}, "reason"},
			edge{"version/empty", fields{"version": ""}, "version"},
			edge{"version/omitted", fields{"version": omitted}, "version"},
			edge{"version/too-long", fields{"version": x(65)}, "version"},
			edge{"version/control", fields{"version": "1.\x01"}, "version"},
			edge{"tenant/own", fields{"tenant": "acme"}, ""},
			edge{"tenant/null", fields{"tenant": nil}, ""})...)
		longest := rowsOf(call, edge{"version/longest", fields{"version": x(64)}, ""})[0]
		longest.status, longest.what = 409, "version_conflict"
		other := rowsOf(call, edge{"tenant/other", fields{"tenant": "globex"}, ""})[0]
		other.status, other.what, other.then = 403, "forbidden", names("tenant")
		rows = append(rows, longest, other)
	}
	return append(rows, rowsOf("resolve",
		edge{"to/empty", fields{"to": ""}, "to"},
		edge{"to/omitted", fields{"to": omitted}, "to"},
		edge{"to/upper-case", fields{"to": "Completed"}, "to"},
		edge{"to/in-progress", fields{"to": "in_progress"}, "to"},
		edge{"to/abandoned", fields{"to": "abandoned"}, "to"},
		edge{"to/uncertain", fields{"to": "uncertain"}, "to"},
		edge{"resource_id/longest", fields{"resource_id": x(255)}, ""},
		edge{"resource_id/too-long", fields{"resource_id": x(256)}, "resource_id"},
		edge{"response.status/least", respond(fields{"status": 100}), ""},
		edge{"response.status/most", respond(fields{"status": 999}), ""},
		edge{"response.status/under", respond(fields{"status": 99}), "response.status"},
		edge{"response.status/over", respond(fields{"status": 1000}), "response.status"})...)
}
