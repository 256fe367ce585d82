-- Sends one request again and again.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local body = setting_text("BENCH_BODY")
local before, after = with_body(setting_text("BENCH_METHOD"))
local whole = before .. setting_text("BENCH_PATH") .. after .. #body .. "\r\n\r\n" .. body

function request()
  return whole
end
