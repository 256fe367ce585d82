-- Creates an article in any folder. Names are unique: the tag of the run and a counter (wrk runs one thread).
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = with_body("POST")
local start = before .. nodes_url() .. "/f-"
local folders = setting_number("BENCH_ARTICLES") / 100
local tag = os.getenv("BENCH_RUN")
local text = os.getenv("BENCH_BODY_TEXT")
local random = math.random
local count = 0

function request()
  count = count + 1
  local author = random(0, 99)
  local body = '{"name":"c-' .. tag .. "-" .. count .. '","node_type":"bench:Article","properties":{"title":"Title '
    .. count .. '","author":"author-' .. author .. '","rank":' .. count .. ',"body":"' .. text .. '","tags":["one","two"]}}'
  return start .. random(0, folders - 1) .. after .. #body .. "\r\n\r\n" .. body
end
