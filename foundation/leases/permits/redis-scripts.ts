/**
 * The operations of the permits in Redis, atomic as scripts. The keys of one bound have one hash tag, so that they lie in one slot of a
 * cluster.
 *
 * KEYS: until, holders. `until` is a sorted set of names by the end of their leases, `holders` a hash of the same names: the ticket (36
 * characters), `1` where the holder is asked to end, else `0`, and the note. Times are microseconds of the clock of Redis.
 * ARGV[1] is the name.
 */
const PRELUDE = `
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local name = ARGV[1]
local function text(number) return string.format('%.0f', number) end
local ends = redis.call('zscore', KEYS[1], name)
local isHeld = ends and tonumber(ends) > now
local holder = isHeld and redis.call('hget', KEYS[2], name) or ''
local function isFull(limit) return redis.call('zcount', KEYS[1], '(' .. text(now), '+inf') >= limit end
local function hold(lease, value)
  redis.call('zadd', KEYS[1], text(now + lease * 1000), name)
  redis.call('hset', KEYS[2], name, value)
  for _, key in ipairs(KEYS) do
    if redis.call('pttl', key) < lease then redis.call('pexpire', key, lease) end
  end
end
local function drop(names)
  redis.call('zrem', KEYS[1], unpack(names))
  redis.call('hdel', KEYS[2], unpack(names))
end
`;

/** ARGV: name, ticket, note, limit, lease ms. Answers `granted`, `held` or `full`. */
export const TAKE = `${PRELUDE}
local gone = redis.call('zrangebyscore', KEYS[1], '-inf', text(now), 'limit', 0, 1000)
if #gone > 0 then drop(gone) end
if isHeld then return 'held' end
if isFull(tonumber(ARGV[4])) then return 'full' end
hold(tonumber(ARGV[5]), ARGV[2] .. '0' .. ARGV[3])
return 'granted'
`;

/**
 * ARGV as for TAKE. Answers `held`, `revoked` or `gone`. A holder whose place Redis has forgotten (it was emptied or started anew) gets
 * one again, where there is room: he has told nobody that he lost it.
 */
export const RENEW = `${PRELUDE}
if not isHeld and not isFull(tonumber(ARGV[4])) then holder = ARGV[2] .. '0' .. ARGV[3] end
if string.sub(holder, 1, 36) ~= ARGV[2] then return 'gone' end
hold(tonumber(ARGV[5]), holder)
return string.sub(holder, 37, 37) == '1' and 'revoked' or 'held'
`;

/** ARGV: name, ticket. */
export const RELEASE = `${PRELUDE}
if string.sub(redis.call('hget', KEYS[2], name) or '', 1, 36) == ARGV[2] then drop({name}) end
return ''
`;

/** ARGV: name. Answers the ticket of the holder, or nothing. */
export const REVOKE = `${PRELUDE}
if holder == '' then return '' end
local ticket = string.sub(holder, 1, 36)
redis.call('hset', KEYS[2], name, ticket .. '1' .. string.sub(holder, 38))
return ticket
`;

/** ARGV: name. Answers what is kept of the holder, or nothing. */
export const FIND = `${PRELUDE}
return holder
`;
