-- Creates a key if it does not exist and removes it again: a lock of etcd without its lease.
dofile(os.getenv("BENCH_WRK_DIR") .. "/report.lua")

-- Without a token: a server without users refuses one.
local after = " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
local put = "POST /v3/kv/txn" .. after
local remove = "POST /v3/kv/deleterange" .. after
local tag = os.getenv("BENCH_RUN")
local held = {}
local count = 0

local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(text)
  local out = {}
  for at = 1, #text, 3 do
    local a, b, c = text:byte(at, at + 2)
    local bits = a * 65536 + (b or 0) * 256 + (c or 0)
    for place = 0, 3 do
      local index = math.floor(bits / 64 ^ (3 - place)) % 64
      out[#out + 1] = (place == 2 and not b or place == 3 and not c) and "=" or digits:sub(index + 1, index + 1)
    end
  end
  return table.concat(out)
end

function request()
  local key = table.remove(held)
  if key then
    local body = '{"key":"' .. key .. '"}'
    return remove .. #body .. "\r\n\r\n" .. body
  end
  count = count + 1
  key = base64(tag .. "-" .. count)
  held[#held + 1] = key
  local body = '{"compare":[{"key":"' .. key .. '","target":"CREATE","result":"EQUAL","createRevision":"0"}],"success":[{"requestPut":{"key":"'
    .. key .. '","value":"dA=="}}]}'
  return put .. #body .. "\r\n\r\n" .. body
end
