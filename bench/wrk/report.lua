-- Shared by the request scripts: the head of a request, and the result as one line of JSON. BENCH_HEADERS has
-- additional header lines with their line ends. wrk counts only answers above 399 as failed, so the runner sends each
-- kind of request once first.

local setting = os.getenv

math.randomseed(tonumber(setting("BENCH_SEED")))

function head(method)
  return method .. " ", " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. setting("BENCH_TOKEN") .. "\r\n"
    .. (setting("BENCH_HEADERS") or "")
end

function with_body(method)
  local before, after = head(method)
  return before, after .. "Content-Type: application/json\r\nContent-Length: "
end

function nodes_url()
  return setting("BENCH_NODES_URL")
end

function setting_text(name)
  return setting(name)
end

function setting_number(name)
  return tonumber(setting(name))
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"durationUs":%d,"failed":%d,"broken":%d,"p50Us":%d,"p99Us":%d}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
