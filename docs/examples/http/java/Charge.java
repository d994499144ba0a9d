import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/**
 * Charges once, whatever happens to the answers.
 *
 *     KEYS_URL=http://127.0.0.1:8080 KEYS_TOKEN=... java Charge.java KEY AMOUNT
 *
 * It needs Java 17 or newer and no libraries; your own JSON library replaces the last class. The provider of the payments
 * is a file here: each line of charges.log is a charge.
 */
public class Charge {
    static final String URL = System.getenv().getOrDefault("KEYS_URL", ""), TOKEN = System.getenv().getOrDefault("KEYS_TOKEN", "");
    static final String LEASE = System.getenv().getOrDefault("KEYS_LEASE", "30s");
    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final HttpClient HTTP = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    /** The answer is final, or not what was asked for. */
    static class Refused extends Exception {
        Refused(Answer problem) { super(problem.body.getOrDefault("code", "unexpected answer") + ": " + problem.text("detail")); }
    }

    /** Nobody answered in time. The same call can be sent again later, with the same ids. */
    static class NoAnswer extends Exception {
        NoAnswer(String what) { super(what); }
    }

    /** It happened, but the key is not completed: look the key up, and do not reserve it before. */
    static class NotRecorded extends Exception {
        NotRecorded(String why) { super(why); }
    }

    /** A status, and the JSON object that came with it. */
    record Answer(int status, Map<String, Object> body) {
        String text(String field) { return body.get(field) instanceof String s ? s : ""; }
    }

    static Answer call(String what, Map<String, Object> body) throws NoAnswer, InterruptedException {
        return call(what, body, PATIENCE, Duration.ofSeconds(30));
    }

    /** Sends a call until it is answered. */
    static Answer call(String what, Map<String, Object> body, Duration patience, Duration timeout) throws NoAnswer, InterruptedException {
        long until = System.nanoTime() + patience.toNanos();
        HttpRequest request = HttpRequest.newBuilder(URI.create(URL + "/v1/keys/" + what)).timeout(timeout)
            .header("Authorization", "Bearer " + TOKEN).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(Json.write(body))).build();
        while (true) {
            long pause = 200;
            try {
                HttpResponse<String> got = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
                Answer answer = got.statusCode() < 300 ? new Answer(got.statusCode(), Json.object(got.body())) : problemIn(got);
                if (!answer.text("advice").equals("repeat_call")) return answer;
                pause = retryAfter(answer, got.headers().firstValue("Retry-After").orElse("1"));
            } catch (IOException | IllegalArgumentException e) {
                // no answer, or half of one
            }
            if (System.nanoTime() + pause * 1_000_000 > until) throw new NoAnswer(what);
            sleepAbout(pause);
        }
    }

    /** Reads a problem, or makes one of what something in between answered. */
    static Answer problemIn(HttpResponse<String> got) {
        try {
            Map<String, Object> problem = Json.object(got.body());
            if (problem.containsKey("advice")) return new Answer(got.statusCode(), problem);
        } catch (IllegalArgumentException e) {
            // no problem of the service
        }
        boolean again = List.of(429, 500, 502, 503, 504).contains(got.statusCode());
        return new Answer(got.statusCode(), Map.of("code", "status_" + got.statusCode(), "advice", again ? "repeat_call" : "fix_request"));
    }

    /** Gives milliseconds: retry_after_ms is the exact value, Retry-After that of anybody else who answered. */
    static long retryAfter(Answer problem, String header) {
        if (problem.body.get("retry_after_ms") instanceof Number ms) return ms.longValue();
        return header.matches("[0-9]{1,6}") ? Long.parseLong(header) * 1000 : 1000;
    }

    /** Sleeps so long or somewhat longer, so that callers do not come back all at once. */
    static void sleepAbout(long millis) throws InterruptedException {
        Thread.sleep((long) (millis * ThreadLocalRandom.current().nextDouble(1, 1.5)));
    }

    /** How it went, and the response. */
    record Outcome(String how, Map<String, Object> response) {}

    /** Gives the response of this run, or that of the run which was first. */
    static Outcome chargeOnce(String key, String body) throws Exception {
        Map<String, Object> name = Map.of("operation", "POST /v1/charges", "key", key);
        Map<String, Object> request = Map.of("method", "POST", "target", "/v1/charges", "content_type", "application/json", "body", body);
        UUID attempt = UUID.randomUUID();
        for (long until = System.nanoTime() + PATIENCE.toNanos(); System.nanoTime() < until; ) {
            Answer got = call("reserve", with(name, "request", request, "attempt_id", attempt.toString(), "lease", LEASE, "wait", "10s"));
            if (got.status == 201 && got.text("outcome").equals("acquired")) {
                Map<String, Object> response = work(name, Json.map(got.body.get("lease")), body);
                if (response != null) return new Outcome("done", response);
                attempt = UUID.randomUUID();
            } else if (got.status == 200 && got.text("outcome").equals("replay")) {
                return new Outcome("replayed", responseIn(Json.map(got.body.get("record"))));
            } else if (got.text("advice").equals("reserve_again")) {
                if (got.text("code").equals("lease_lost")) attempt = UUID.randomUUID(); // this attempt is over; the next one is another
                sleepAbout(retryAfter(got, "1"));
            } else {
                throw new Refused(got);
            }
        }
        throw new NoAnswer("another attempt holds the key");
    }

    /** Charges under the lease. Gives null if the lease was lost before anything happened. */
    static Map<String, Object> work(Map<String, Object> name, Map<String, Object> lease, String body) throws Exception {
        Map<String, Object> held = with(name, "lease_token", lease.get("token"));
        ExecutorService heartbeats = heartbeats(held, ((Number) lease.get("remaining_ms")).longValue() / 3);
        try {
            // The point of no return: should we vanish from here on, nobody may try again before a person has looked.
            Answer turned = call("heartbeat", with(held, "on_lapse", "hold"));
            if (turned.text("code").equals("lease_lost")) return null;
            // A mistyped field is ignored, and answered with 200.
            if (turned.status != 200 || !"hold".equals(Json.map(turned.body.get("record")).get("on_lapse"))) throw new Refused(turned);
            Map<String, Object> outcome;
            try {
                outcome = charge((Number) Json.object(body).get("amount"), downstreamKey(name));
            } catch (Unreached e) { // it surely did not happen: the next attempt may charge
                call("release", with(held, "reason", e.getMessage()));
                throw e;
            } // Any other exception goes up: nobody knows whether it happened, and the key stays held.
            complete(with(held, "result", outcome.get("result"), "response", outcome.get("response")));
            return Json.map(outcome.get("response"));
        } finally {
            heartbeats.shutdownNow();
        }
    }

    /** Says how it went. It has happened, so whatever this is answered, nothing is tried again but the call. */
    static void complete(Map<String, Object> done) throws NotRecorded, InterruptedException {
        Answer got;
        try {
            got = call("complete", done);
            if (got.status == 413) { // too large, and the key must be completed
                got = call("complete", with(done, "response", with(Json.map(done.get("response")), "body", null), "response_dropped", true));
            }
        } catch (NoAnswer e) {
            throw new NotRecorded("no answer");
        }
        // lease_lost too: another attempt may have the key, or have settled it
        if (got.status != 200) throw new NotRecorded(got.text("code"));
    }

    /** Gives the stored response. Where there is none, as an operator may have settled it, one is made of what is known. */
    static Map<String, Object> responseIn(Map<String, Object> record) {
        if (record.get("response") != null) return Json.map(record.get("response"));
        return response("completed".equals(record.get("state")) ? 200 : 402, with(Map.of(), "resource_id", record.get("resource_id")));
    }

    /** Keeps the lease alive until it is shut down. */
    static ExecutorService heartbeats(Map<String, Object> held, long everyMillis) {
        ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
        thread.scheduleWithFixedDelay(() -> {
            try {
                Answer got = call("heartbeat", held, Duration.ZERO, Duration.ofMillis(everyMillis));
                if (got.status != 200) thread.shutdown(); // the key is not ours any more
            } catch (NoAnswer e) {
                // the next one tries again
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, everyMillis, everyMillis, TimeUnit.MILLISECONDS);
        return thread;
    }

    /** Gives a key for the provider that is the same for every attempt, so that it refuses a second charge by itself. */
    static String downstreamKey(Map<String, Object> name) throws Exception {
        byte[] text = Json.write(List.of(name.get("operation"), name.get("key"))).getBytes("UTF-8");
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text));
    }

    /** The provider was not asked at all. */
    static class Unreached extends Exception {
        Unreached(Throwable cause) { super("the provider cannot be reached: " + cause.getClass().getSimpleName()); }
    }

    /** Stands for the provider. A real one is given the key too. */
    static Map<String, Object> charge(Number amount, String key) throws Exception {
        if (amount.longValue() > 1000) { // a failure that is final is a result like any other
            return Map.of("result", "failed", "response", response(402, Map.of("declined", amount)));
        }
        Path log = Path.of(System.getenv().getOrDefault("CHARGES_FILE", "charges.log"));
        try (var out = Files.newBufferedWriter(log, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            out.write(key + " " + amount + "\n");
        } catch (java.nio.file.NoSuchFileException e) {
            throw new Unreached(e);
        }
        Thread.sleep((long) (Double.parseDouble(System.getenv().getOrDefault("CHARGE_SECONDS", "0")) * 1000));
        return Map.of("result", "completed", "response", response(201, Map.of("charged", amount)));
    }

    static Map<String, Object> response(int status, Map<String, Object> body) {
        return Map.of("status", status, "headers", List.of(List.of("Content-Type", "application/json")), "body", Json.write(body));
    }

    static Map<String, Object> with(Map<String, Object> map, Object... more) {
        Map<String, Object> all = new HashMap<>(map);
        for (int i = 0; i < more.length; i += 2) all.put((String) more[i], more[i + 1]);
        return all;
    }

    public static void main(String[] args) throws Exception {
        if (URL.isEmpty() || TOKEN.isEmpty() || args.length != 2 || !args[1].matches("[0-9]{1,15}")) {
            System.err.println("usage: KEYS_URL=... KEYS_TOKEN=... java Charge.java KEY AMOUNT");
            System.exit(2);
        }
        try {
            Outcome done = chargeOnce(args[0], Json.write(Map.of("amount", Long.valueOf(args[1]))));
            System.out.println(done.how + " " + done.response.getOrDefault("status", 200) + " " + done.response.getOrDefault("body", ""));
        } catch (Refused | NoAnswer | Unreached e) {
            System.err.println((e instanceof Refused ? "refused: " : "not charged: ") + e.getMessage());
            System.exit(1);
        } catch (NotRecorded e) {
            System.err.println("it happened, but is not recorded: " + e.getMessage() + ": look the key up before anything else");
            System.exit(1);
        }
    }

    /** As much of JSON as the example needs; what it cannot read is an IllegalArgumentException. */
    static class Json {
        private final String text;
        private int at;

        private Json(String text) { this.text = text; }

        static Map<String, Object> object(String text) {
            Json json = new Json(text);
            Map<String, Object> object = map(json.value());
            if (json.peek() != 0) throw json.wrong();
            return object;
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> map(Object value) {
            if (value instanceof Map<?, ?>) return (Map<String, Object>) value;
            throw new IllegalArgumentException("not an object: " + value);
        }

        private IllegalArgumentException wrong() { return new IllegalArgumentException("not JSON at " + at); }

        private char peek() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean take(char c) {
            if (peek() != c) return false;
            at++;
            return true;
        }

        private void need(char c) { if (!take(c)) throw wrong(); }

        private Object value() {
            switch (peek()) {
                case '{': return members();
                case '[': return items();
                case '"': return string();
            }
            int from = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(from, at);
            return switch (word) {
                case "true" -> true;
                case "false" -> false;
                case "null" -> null;
                default -> word.matches("-?[0-9]{1,18}") ? (Object) Long.valueOf(word) : Double.valueOf(word);
            };
        }

        private Map<String, Object> members() {
            Map<String, Object> map = new HashMap<>();
            need('{');
            if (take('}')) return map;
            do {
                if (peek() != '"') throw wrong();
                String name = string();
                need(':');
                map.put(name, value());
            } while (take(','));
            need('}');
            return map;
        }

        private List<Object> items() {
            List<Object> list = new ArrayList<>();
            need('[');
            if (take(']')) return list;
            do list.add(value()); while (take(','));
            need(']');
            return list;
        }

        private String string() {
            StringBuilder s = new StringBuilder();
            for (at++; at < text.length(); at++) {
                char c = text.charAt(at);
                if (c == '"') {
                    at++;
                    return s.toString();
                }
                s.append(c == '\\' ? escaped() : c);
            }
            throw wrong();
        }

        private char escaped() {
            if (++at == text.length()) throw wrong();
            int plain = "bfnrt".indexOf(text.charAt(at));
            if (plain >= 0) return "\b\f\n\r\t".charAt(plain);
            if (text.charAt(at) != 'u') return text.charAt(at);
            if (at + 4 >= text.length()) throw wrong();
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
        }

        static String write(Object value) {
            if (value instanceof Map<?, ?> map) {
                StringJoiner all = new StringJoiner(",", "{", "}");
                map.forEach((name, v) -> all.add(write(name) + ":" + write(v)));
                return all.toString();
            }
            if (value instanceof List<?> list) {
                StringJoiner all = new StringJoiner(",", "[", "]");
                list.forEach(v -> all.add(write(v)));
                return all.toString();
            }
            if (!(value instanceof String s)) return String.valueOf(value);
            StringBuilder quoted = new StringBuilder("\"");
            for (char c : s.toCharArray()) {
                if (c == '"' || c == '\\') quoted.append('\\').append(c);
                else if (c < ' ') quoted.append(String.format("\\u%04x", (int) c));
                else quoted.append(c);
            }
            return quoted.append('"').toString();
        }
    }
}
