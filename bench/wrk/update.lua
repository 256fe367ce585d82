-- Updates all properties of any article, including both indexed ones.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

local before, after = with_body("PUT")
local start = before .. nodes_url() .. "/f-"
local folders = setting_number("BENCH_ARTICLES") / 100
local text = os.getenv("BENCH_BODY_TEXT")
local random = math.random

function request()
  local rank = random(0, 999999999)
  local body = '{"properties":{"title":"Title ' .. rank .. '","author":"author-' .. random(0, 99)
    .. '","rank":' .. rank .. ',"body":"' .. text .. '","tags":["one","two"]}}'
  return start .. random(0, folders - 1) .. "/n-" .. random(0, 99) .. after .. #body .. "\r\n\r\n" .. body
end
