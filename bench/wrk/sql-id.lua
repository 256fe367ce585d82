-- Selects an article by its id, each equally likely. The ids are in a file, one to a line.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local file = assert(io.open(os.getenv("BENCH_IDS_FILE"), "r"))
local ids = file:read("*a")
file:close()

local before, after = with_body("POST")
local start = before .. setting_text("BENCH_PATH") .. after
local statement = '{"sql":"SELECT * FROM content WHERE id = $1","params":["'
local articles = setting_number("BENCH_ARTICLES")
local random = math.random

function request()
  local at = random(0, articles - 1) * 37
  local body = statement .. ids:sub(at + 1, at + 36) .. '"]}'
  return start .. #body .. "\r\n\r\n" .. body
end
