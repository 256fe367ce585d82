-- Acquires a lock and releases it with the token of the answer. Each key is used by one client at a time.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = with_body("POST")
local acquire = before .. setting_text("BENCH_LOCKS_URL") .. "/locks/acquire" .. after
local release = before .. setting_text("BENCH_LOCKS_URL") .. "/locks/release" .. after
local tag = os.getenv("BENCH_RUN")
local held = {}
local count = 0

function request()
  local body = table.remove(held)
  if body then
    return release .. #body .. "\r\n\r\n" .. body
  end
  count = count + 1
  body = '{"key":"' .. tag .. "-" .. count .. '","ttl_ms":30000}'
  return acquire .. #body .. "\r\n\r\n" .. body
end

function response(status, headers, body)
  local key, token = body:match('"key":"([^"]+)","token":(%d+)')
  if key then
    held[#held + 1] = '{"key":"' .. key .. '","token":' .. token .. "}"
  end
end
