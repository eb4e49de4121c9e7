// Planted bugs of the controllers and the fencer; see ../planted.mjs.
const MANAGER = 'services/controller-manager/src';

export const MANAGERS_BUGS = [
  {
    name: 'detach-without-word',
    harm: 'a volume is detached from a node that says it uses it',
    file: `${MANAGER}/controllers/attach-detach/index.ts`,
    find: '      if (!isReleased(node, lease, nameOf(volume))) return { requeueAfterMs: ATTACH_RECHECK_MS };',
    replace: '      if (!isReleased(undefined, lease, nameOf(volume))) return {};',
  },
  {
    name: 'statefulset-creates-ahead',
    harm: 'a StatefulSet creates its pods at once, although the ones before are not ready',
    file: `${MANAGER}/controllers/statefulset/decide.ts`,
    find: '    if (isUnderWay || !isSettled(picture, pod)) return { actions, isBlocked: true };',
    replace: '    if (isUnderWay && action === undefined) return { actions, isBlocked: true };',
  },
  {
    name: 'users-gone-by-cache',
    harm: 'a volume is taken from a pod that only the cache has lost',
    file: `${MANAGER}/controllers/attach-detach/index.ts`,
    find: '    const live = await client.find(PODS, { namespace, name });',
    replace: '    const live = undefined as Pod | undefined;',
  },
  {
    name: 'statefulset-takes-two',
    harm: 'a StatefulSet takes a pod that still ends for settled and goes on with the next one',
    edits: [
      {
        file: `${MANAGER}/controllers/statefulset/decide.ts`,
        find: "  !isTerminating(pod) && pod.status.phase === 'Running' && isAvailable(",
        replace: "  isTerminating(pod) || pod.status.phase !== 'Running' || isAvailable(",
      },
      {
        file: `${MANAGER}/controllers/statefulset/decide.ts`,
        find: '    if (pod === undefined || isTerminating(pod)) return [];',
        replace: '    if (pod === undefined || isTerminating(pod)) continue;',
      },
    ],
  },
  {
    name: 'owner-known-by-name',
    harm: 'what a deleted owner leaves stays because another object has the name of the owner',
    file: `${MANAGER}/controllers/owner-garbage/graph.ts`,
    find: '    return cached !== undefined && uidOf(cached) === owner.uid ? stateOf(cached) : undefined;',
    replace: '    return cached !== undefined ? stateOf(cached) : undefined;',
  },
  {
    name: 'owner-never-seen',
    harm: 'what an owner leaves that went before a cache had shown it stays',
    file: `${MANAGER}/controllers/owner-garbage/index.ts`,
    find: '  return asked > 0 && action === undefined ?',
    replace: '  return asked < 0 && action === undefined ?',
  },
  {
    name: 'owner-gone-by-cache',
    harm: 'objects are deleted because a cache does not know their owner yet',
    file: `${MANAGER}/controllers/owner-garbage/index.ts`,
    find: 'const state = known ?? (await graph.askedOwnerState(object, owner));',
    replace: "const state = known ?? 'absent';",
  },
  {
    name: 'namespace-before-content',
    harm: 'a namespace is removed while something is left in it',
    file: `${MANAGER}/controllers/namespace/decide.ts`,
    find: 'const isEmpty = remaining.size === 0 &&',
    replace: 'const isEmpty = remaining.size >= 0 &&',
  },
  {
    name: 'job-counts-twice',
    harm: 'a Job counts a pod again that it has noted already',
    file: `${MANAGER}/controllers/job/accounting.ts`,
    find: '    if (noted.succeeded.has(uid) || noted.failed.has(uid)) continue;',
    replace: '',
  },
  {
    name: 'forgets-own-writes',
    harm: 'a controller decides on a cache that lacks what it has just written',
    edits: [
      {
        file: `${MANAGER}/common/cache-barrier.ts`,
        find: '    return writes.size === 0 && deletes.size === 0;',
        replace: '    return true;',
      },
      // The name of a pod follows from its place, so what is forgotten would be met again by its name.
      {
        file: `${MANAGER}/common/owned-pods.ts`,
        find: '  if (holder !== undefined && isControlledBy(holder, uidOf(owner))) {',
        replace: "  if (holder !== undefined && uidOf(holder) === '') {",
      },
    ],
  },
  {
    name: 'promise-waited-short',
    harm: 'the control plane releases the pods of a silent node before its watchdog ends them',
    file: `${MANAGER}/controllers/self-fencing/decide.ts`,
    find: 'return nowMs - sinceMs > waitMs(promise.durationMs, limits);',
    replace: 'return nowMs - sinceMs > waitMs(promise.durationMs, limits) / 3;',
  },
  {
    name: 'fence-taken-for-done',
    harm: 'a fencer takes an agent that is still at work for one that is done',
    file: 'services/fencer/src/apply.ts',
    find: "    if (answer.state === 'pending') return after(AGENT_PENDING_MS);\n    if (answer.state !== 'fenced') return",
    replace: "    if (answer.state !== 'fenced' && answer.state !== 'pending') return",
  },
];
