import { createHash } from 'node:crypto';
import { STATE_OVERHEAD_BYTES } from '../internal/change-size.ts';
import { REDIS_WRITE_ID_EXPIRY_SECONDS } from '../limits.ts';

export interface Script {
  readonly source: string;
  readonly sha: string;
}

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/**
 * Writes that arrived together; each stands alone. One after the other, the script evaluates all operations of a write,
 * then writes. Redis has no rollback, so a write has no effect before its last operation is evaluated, and XADD comes
 * first: it is the only step that can fail (memory, an ID that does not grow), and only for the first write of a
 * script.
 *
 * KEYS  meta, history, current write ids, previous write ids, then per operation: object hash, index ARGV  epoch,
 * deadline (ms, Redis time), number of writes, bytes that releasing writes may use (0 = no limit), then per write:
 * write id,
 * attempt, number of operations, bytes that it may use, and per operation: op, expected revision or '', value, key,
 * member, checksum
 *
 * Returns one refusal for all, or a list with an answer for each and the size of the store as the last item.
 *
 * Sizes: `ob` of the meta hash is the size of all objects, `hb` the size of all changes ever, `cb` the compacted part
 * of that. An entry of the history carries `hb` as of its change, and an object hash the size of its object, so that
 * nothing is counted twice.
 *
 * Attempts are 'first', 'again' or 'only'. The script records a refusal under the write id when an earlier attempt may
 * still be in flight: a create that was answered with "exists" must not be executed by a late packet after the object
 * was deleted. So a first attempt also looks for an answer. 'only' is a first attempt under an id whose attempts all
 * name the current bucket of write ids.
 */
export const COMMIT = script(`
local head = redis.call('HMGET', KEYS[1], 'rev', 'epoch', 'state', 'ob', 'hb', 'cb', 'compact')
if head[3] ~= 'serving' then return {'UNAVAILABLE', head[3] or 'absent'} end
if head[2] ~= ARGV[1] then return {'EPOCH', head[2] or ''} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now > tonumber(ARGV[2]) then return {'EXPIRED', string.format('%.0f', now)} end
local last = tonumber(head[1])
local objects, history, compacted = tonumber(head[4] or '0'), tonumber(head[5] or '0'), tonumber(head[6] or '0')
local releasing = tonumber(ARGV[4])
local remembered, answerOf = {}, {}
local function remember(id, answer)
  remembered[#remembered + 1] = id
  remembered[#remembered + 1] = answer
  answerOf[id] = answer
end
local function sizeOf(at) return #ARGV[at + 2] + #ARGV[at + 3] + ${STATE_OVERHEAD_BYTES} end
local function sizeOfStored(key, found, at)
  if not found[1] then return 0 end
  if found[2] then return tonumber(found[2]) end
  return #(redis.call('HGET', key, 'v')) + #ARGV[at + 3] + ${STATE_OVERHEAD_BYTES}
end
local function fits(most, grown, written, deletes)
  if most == 0 or deletes then return true end
  if grown <= 0 and most < releasing then most = releasing end
  return objects + history - compacted + grown + written <= most
end
local function judge(count, k, a, previous, most)
  local grown, written, deletes = 0, 0, true
  for i = 0, count - 1 do
    local at = a + i * 6
    local op, expected = ARGV[at], ARGV[at + 1]
    local found = redis.call('HMGET', KEYS[k + i * 2], 'r', 's')
    local current = found[1]
    previous[i] = current or '0'
    local size = sizeOf(at)
    written = written + size
    grown = grown - sizeOfStored(KEYS[k + i * 2], found, at)
    if op ~= 'd' then
      grown = grown + size
      deletes = false
    end
    if op == 'c' then
      if current then return 'EXISTS ' .. i .. ' ' .. current end
    elseif not current then
      return 'NOTFOUND ' .. i .. ' 0'
    elseif expected ~= '' and current ~= expected then
      return 'CONFLICT ' .. i .. ' ' .. current
    end
  end
  if not fits(most, grown, written, deletes) then
    return string.format('FULL %.0f %.0f', most, objects + history - compacted)
  end
  objects = objects + grown
end
local function apply(id, count, k, a, previous)
  local first = last + 1
  for i = 0, count - 1 do
    local at = a + i * 6
    history = history + sizeOf(at)
    redis.call('XADD', KEYS[2], string.format('%.0f-0', first + i),
      'o', ARGV[at], 'k', ARGV[at + 3], 'p', previous[i], 'v', ARGV[at + 2], 'w', id, 'b', string.format('%.0f', history),
      'x', ARGV[at + 5])
  end
  for i = 0, count - 1 do
    local at = a + i * 6
    local op, object, index = ARGV[at], KEYS[k + i * 2], KEYS[k + i * 2 + 1]
    local revision = string.format('%.0f', first + i)
    local check = revision .. ' ' .. ARGV[at + 5]
    if op == 'c' then
      redis.call('HSET', object, 'v', ARGV[at + 2], 'r', revision, 'c', revision, 's', sizeOf(at), 'x', check)
      redis.call('ZADD', index, 0, ARGV[at + 4])
    elseif op == 'u' then
      redis.call('HSET', object, 'v', ARGV[at + 2], 'r', revision, 's', sizeOf(at), 'x', check)
    else
      redis.call('DEL', object)
      redis.call('ZREM', index, ARGV[at + 4])
    end
  end
  last = last + count
  return string.format('OK %.0f %.0f', first, last)
end
local answers = {}
local k, a = 5, 5
for write = 1, tonumber(ARGV[3]) do
  local id, attempt, count = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
  local done = answerOf[id] or redis.call('HGET', KEYS[3], id)
  if not done and attempt ~= 'only' then done = redis.call('HGET', KEYS[4], id) end
  if done then
    answers[write] = {'DONE', done, 'again'}
  else
    local previous = {}
    local answer = judge(count, k, a + 4, previous, tonumber(ARGV[a + 3]))
    if answer then
      if attempt == 'again' then remember(id, answer) end
    else
      answer = apply(id, count, k, a + 4, previous)
      remember(id, answer)
    end
    answers[write] = {'DONE', answer}
  end
  k, a = k + count * 2, a + 4 + count * 6
end
if #remembered > 0 then
  redis.call('HSET', KEYS[3], unpack(remembered))
  if redis.call('HLEN', KEYS[3]) * 2 == #remembered then redis.call('EXPIRE', KEYS[3], ${REDIS_WRITE_ID_EXPIRY_SECONDS}) end
  redis.call('HSET', KEYS[1], 'rev', string.format('%.0f', last),
    'ob', string.format('%.0f', objects), 'hb', string.format('%.0f', history))
end
answers[#answers + 1] = {string.format('%.0f', last), head[7] or '0',
  string.format('%.0f', objects), string.format('%.0f', history - compacted)}
return answers
`);

/** KEYS meta, object hashes. */
export const GET = script(`
local head = redis.call('HMGET', KEYS[1], 'state', 'rev')
local found = {}
for i = 2, #KEYS do found[i - 1] = redis.call('HMGET', KEYS[i], 'v', 'r', 'c', 'x') end
return {head[1] or 'absent', head[2] or '0', found}
`);

/** KEYS meta, index; ARGV lower bound, upper bound, count, prefix of the object hashes of this resource. */
export const PAGE = script(`
local head = redis.call('HMGET', KEYS[1], 'state', 'rev')
local members = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local found = {}
for _, member in ipairs(members) do
  local object = redis.call('HMGET', ARGV[4] .. member, 'v', 'r', 'c', 'x')
  if not object[1] then return redis.error_reply('HALF index names an object that is absent: ' .. member) end
  found[#found + 1] = member
  found[#found + 1] = object[1]
  found[#found + 1] = object[2]
  found[#found + 1] = object[3]
  found[#found + 1] = object[4]
end
return {head[1] or 'absent', head[2] or '0', found}
`);

/** KEYS meta, history; ARGV incarnation and format for an empty server, or '' to leave an empty server empty. */
export const INSPECT = script(`
local history = redis.call('EXISTS', KEYS[2]) == 1
if redis.call('EXISTS', KEYS[1]) == 0 and not history and ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'rev', '0', 'compact', '0', 'inc', ARGV[1], 'epoch', '1', 'state', 'serving', 'fmt', ARGV[2],
    'ob', '0', 'hb', '0', 'cb', '0')
end
local last = '0-0'
if history then
  local info = redis.call('XINFO', 'STREAM', KEYS[2])
  for i = 1, #info, 2 do if info[i] == 'last-generated-id' then last = info[i + 1] end end
end
local time = redis.call('TIME')
local meta = redis.call('HMGET', KEYS[1], 'rev', 'compact', 'inc', 'epoch', 'state', 'fmt')
local why = redis.call('HGET', KEYS[1], 'why')
for i = 1, 6 do meta[i] = meta[i] or '' end
meta[7] = last
meta[8] = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
meta[9] = why or ''
local sizes = redis.call('HMGET', KEYS[1], 'ob', 'hb', 'cb')
for i = 1, 3 do meta[9 + i] = sizes[i] or '' end
return meta
`);

/**
 * The bytes that a history entry leaves before it: its `b` or, for an entry of an earlier version, the sum of the
 * entries in between.
 */
const COMPACTED_BYTES = `
local function compactedBytes(history, from, upTo, before)
  local upToId = string.format('%.0f-0', upTo)
  local entry = redis.call('XRANGE', history, upToId, upToId)[1]
  if entry and entry[2][11] == 'b' then return tonumber(entry[2][12]) end
  local sum, at = before, string.format('%.0f-0', from + 1)
  while true do
    local entries = redis.call('XRANGE', history, at, upToId, 'COUNT', 500)
    for _, each in ipairs(entries) do sum = sum + #each[2][4] + #each[2][8] + ${STATE_OVERHEAD_BYTES} end
    if #entries < 500 then return sum end
    at = '(' .. entries[#entries][1]
  end
end
`;

/**
 * KEYS meta, history; ARGV revision. Moves the compacted revision forward, never back and never past the current one.
 */
export const COMPACT = script(`${COMPACTED_BYTES}
local head = redis.call('HMGET', KEYS[1], 'rev', 'compact', 'ob', 'hb', 'cb')
local target = math.min(tonumber(ARGV[1]), tonumber(head[1] or '0'))
local compact = tonumber(head[2] or '0')
local bytes = tonumber(head[5] or '0')
if target > compact then
  bytes = compactedBytes(KEYS[2], compact, target, bytes)
  compact = target
  redis.call('HSET', KEYS[1], 'compact', string.format('%.0f', compact), 'cb', string.format('%.0f', bytes))
end
return {head[1] or '0', string.format('%.0f', compact), head[3] or '0', string.format('%.0f', tonumber(head[4] or '0') - bytes)}
`);

/**
 * KEYS meta, history; ARGV prefix of the object hashes. Counts a store of an earlier version. Runs once, because it
 * reads everything.
 */
export const COUNT = script(`${COMPACTED_BYTES}
local head = redis.call('HMGET', KEYS[1], 'rev', 'compact', 'ob')
if head[3] or not head[1] then return 'OK' end
local objects, cursor = 0, '0'
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local found = redis.call('HMGET', key, 'v', 's')
    if found[1] and not found[2] then
      local size = #found[1] + #key - #ARGV[1] + ${STATE_OVERHEAD_BYTES}
      redis.call('HSET', key, 's', size)
      objects = objects + size
    end
  end
until cursor == '0'
local history = compactedBytes(KEYS[2], tonumber(head[2] or '0'), tonumber(head[1]), 0)
redis.call('HSET', KEYS[1], 'ob', string.format('%.0f', objects), 'hb', string.format('%.0f', history), 'cb', '0')
return 'OK'
`);

/** KEYS meta; ARGV incarnation, epoch, reason. Does nothing when the data were adopted meanwhile. */
export const HALT = script(`
local head = redis.call('HMGET', KEYS[1], 'inc', 'epoch', 'state')
if head[1] == ARGV[1] and head[2] == ARGV[2] and head[3] == 'serving' then
  redis.call('HSET', KEYS[1], 'state', 'halted', 'why', ARGV[3])
end
return 'OK'
`);

/** KEYS meta, history; ARGV number of entries. Returns write ids of the newest entries: revision, write id, ... */
export const NEWEST = script(`
local found = {}
local first = tonumber(redis.call('HGET', KEYS[1], 'rev') or '0') - tonumber(ARGV[1]) + 1
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], string.format('%.0f-0', math.max(first, 0)), '+')) do
  found[#found + 1] = string.sub(entry[1], 1, -3)
  found[#found + 1] = entry[2][10]
end
return found
`);

/**
 * KEYS meta, history; ARGV revision, write id, ... as a process remembers them. Returns nothing when the history
 * agrees, otherwise the first revision that differs and its write id. Compacted revisions cannot be compared.
 */
export const COMPARE = script(`
local compact = tonumber(redis.call('HGET', KEYS[1], 'compact') or '0')
for i = 1, #ARGV, 2 do
  local entry = redis.call('XRANGE', KEYS[2], ARGV[i] .. '-0', ARGV[i] .. '-0')[1]
  if entry then
    if entry[2][10] ~= ARGV[i + 1] then return {ARGV[i], entry[2][10]} end
  elseif tonumber(ARGV[i]) > compact then
    return {ARGV[i], ''}
  end
end
return {}
`);

/**
 * KEYS meta, history; ARGV number of revisions to skip. Begins the next epoch with the current data. No process of the
 * previous epoch may write, no watch resumes from before, and no revision is used twice.
 */
export const ADOPT = script(`
local head = redis.call('HMGET', KEYS[1], 'rev', 'epoch', 'fmt', 'hb')
if not head[3] then return {'absent'} end
if head[4] then redis.call('HSET', KEYS[1], 'cb', head[4]) end
local last = tonumber(head[1])
if redis.call('EXISTS', KEYS[2]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[2])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = math.max(last, tonumber(string.sub(info[i + 1], 1, -3))) end
  end
end
local revision = string.format('%.0f', last + tonumber(ARGV[1]))
local epoch = string.format('%.0f', tonumber(head[2]) + 1)
redis.call('XADD', KEYS[2], revision .. '-0', 'o', 'adopted')
redis.call('XTRIM', KEYS[2], 'MAXLEN', 0)
redis.call('HSET', KEYS[1], 'rev', revision, 'compact', revision, 'epoch', epoch, 'state', 'serving', 'why', '')
return {'adopted', revision, epoch}
`);
