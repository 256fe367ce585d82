-- Reads an article by its path, each equally likely.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = head("GET")
local start = before .. nodes_url() .. "/f-"
local stop = after .. "\r\n"
local folders = setting_number("BENCH_ARTICLES") / 100
local random = math.random

function request()
  return start .. random(0, folders - 1) .. "/n-" .. random(0, 99) .. stop
end
