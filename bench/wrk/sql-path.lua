-- Selects an article by its path, each equally likely.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = with_body("POST")
local start = before .. setting_text("BENCH_PATH") .. after
local statement = '{"sql":"SELECT * FROM content WHERE path = $1","params":["/f-'
local folders = setting_number("BENCH_ARTICLES") / 100
local random = math.random

function request()
  local body = statement .. random(0, folders - 1) .. "/n-" .. random(0, 99) .. '"]}'
  return start .. #body .. "\r\n\r\n" .. body
end
