-- Claims one unit of a pool that does not run out.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = with_body("POST")
local body = '{"pool":"hot","n":1,"capacity":1000000000}'
local whole = before .. setting_text("BENCH_LOCKS_URL") .. "/inventory/claim" .. after .. #body .. "\r\n\r\n" .. body

function request()
  return whole
end
