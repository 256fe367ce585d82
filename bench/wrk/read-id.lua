-- Reads an article by its id, each equally likely. The ids are in a file, one to a line.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local file = assert(io.open(os.getenv("BENCH_IDS_FILE"), "r"))
local ids = file:read("*a")
file:close()

local before, after = head("GET")
local start = before .. nodes_url() .. "/$ref/"
local stop = after .. "\r\n"
local articles = setting_number("BENCH_ARTICLES")
local random = math.random

function request()
  local at = random(0, articles - 1) * 37
  return start .. ids:sub(at + 1, at + 36) .. stop
end
