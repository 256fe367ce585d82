-- Reads the first page of 100 children of any folder.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = head("GET")
local start = before .. nodes_url() .. "/f-"
local stop = "/?limit=100" .. after .. "\r\n"
local folders = setting_number("BENCH_ARTICLES") / 100
local random = math.random

function request()
  return start .. random(0, folders - 1) .. stop
end
