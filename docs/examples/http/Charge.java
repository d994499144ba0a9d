// Charges once, whatever happens to the answers: java Charge.java URL TOKEN KEY AMOUNT
// (The JSON is read by patterns, so that the example is one file; use your JSON library.)
import java.net.URI;
import java.net.http.*;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.*;
import java.util.regex.*;

public class Charge {
    static final HttpClient http = HttpClient.newHttpClient();
    static String url, token, key, amount;

    record Answer(int status, String text) {
        String text(String field) {
            Matcher m = Pattern.compile("\"" + field + "\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(text);
            return m.find() ? m.group(1) : "";
        }

        long number(String field, long otherwise) {
            Matcher m = Pattern.compile("\"" + field + "\":([0-9]+)").matcher(text);
            return m.find() ? Long.parseLong(m.group(1)) : otherwise;
        }

        // The token of the lease is the only one in an answer.
        String leaseToken() { return text("token"); }
    }

    /** Sends a call until it has an answer: every call can be repeated with the same ids. */
    static Answer post(String call, String fields) throws InterruptedException {
        String body = "{\"operation\":\"POST /v1/charges\",\"key\":\"" + key + "\"," + fields + "}";
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/v1/keys/" + call)).timeout(Duration.ofSeconds(30))
            .header("Authorization", "Bearer " + token).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        for (int attempt = 0; attempt < 10; attempt++) {
            try {
                HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
                Answer answer = new Answer(response.statusCode(), response.body());
                if (!answer.text("advice").equals("repeat_call")) return answer;
                Thread.sleep(answer.number("retry_after_ms", 1000));
            } catch (java.io.IOException e) {
                Thread.sleep(Math.min(100L << attempt, 2000));
            }
        }
        throw new IllegalStateException(call + " had no answer");
    }

    static String once(Callable<String> work) throws Exception {
        String attemptId = UUID.randomUUID().toString(); // one for each acquisition
        for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60); System.nanoTime() < end; ) {
            Answer got = post("reserve", "\"fingerprint\":\"amount=" + amount + "\",\"attempt_id\":\"" + attemptId + "\",\"wait\":\"10s\"");
            if (got.status == 201 && got.text("outcome").equals("acquired")) return run(work, got);
            if (got.status == 200 && got.text("outcome").equals("replay")) return "replayed " + got.text("body");
            if (!got.text("advice").equals("reserve_again")) return got.text("code") + " " + got.text("detail");
            if (got.text("code").equals("lease_lost")) attemptId = UUID.randomUUID().toString();
            Thread.sleep(got.number("retry_after_ms", 100));
        }
        return "in_progress another attempt holds the key";
    }

    static String run(Callable<String> work, Answer lease) throws Exception {
        String held = "\"lease_token\":\"" + lease.leaseToken() + "\"";
        ScheduledExecutorService heartbeats = Executors.newSingleThreadScheduledExecutor();
        long third = lease.number("remaining_ms", 30000) / 3;
        heartbeats.scheduleAtFixedRate(() -> {
            try { post("heartbeat", held); } catch (Exception e) { /* the next one tries again */ }
        }, third, third, TimeUnit.MILLISECONDS);
        String body;
        try {
            body = work.call();
        } catch (Exception e) { // it did not happen: somebody else may try
            stop(heartbeats);
            post("release", held + ",\"reason\":\"it failed\"");
            throw e;
        }
        stop(heartbeats);
        Answer got = post("complete", held + ",\"response\":{\"status\":201,\"body\":\"" + body + "\"}");
        return (got.status == 200 ? "done" : got.text("code")) + " " + body;
    }

    static void stop(ExecutorService heartbeats) throws InterruptedException {
        heartbeats.shutdown();
        heartbeats.awaitTermination(30, TimeUnit.SECONDS);
    }

    public static void main(String[] args) throws Exception {
        url = args[0]; token = args[1]; key = args[2]; amount = args[3];
        System.out.println(once(() -> "charged " + amount));
    }
}
