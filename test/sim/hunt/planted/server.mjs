// Planted bugs of the API server and the store; see ../planted.mjs.
const API = 'services/apiserver/src';
const MANAGER = 'services/controller-manager/src';

export const SERVER_BUGS = [
  {
    name: 'eviction-without-count',
    harm: 'an eviction believes the count of the budget, which is a moment old',
    file: `${API}/subresources/disruption-budget.ts`,
    find: '  await checkPods(core, current, pod);',
    replace: '',
  },
  {
    name: 'eviction-without-compare',
    harm: 'two evictions spend the same disruption of a budget',
    file: `${API}/subresources/disruption-budget.ts`,
    find: "  return (await updateStored(core, definition, { old: stored, object })).outcome === 'done';",
    replace: '  await updateStored(core, definition, { old: stored, object });\n  return true;',
  },
  {
    name: 'eviction-by-stale-cache',
    harm: 'an eviction counts the pods of its budget in a cache that lags',
    edits: [
      {
        file: `${API}/subresources/disruption-budget.ts`,
        find: `  await catchUp(core);
  const healthy`,
        replace: '  const healthy',
      },
      {
        file: `${API}/subresources/disruption-budget.ts`,
        find: `  await catchUp(core);
  const [budget, second]`,
        replace: '  const [budget, second]',
      },
    ],
  },
  {
    name: 'quota-not-charged',
    harm: 'an API server lets objects in by its own count of a quota, and tells the others nothing',
    file: `${API}/admission/plugins/resource-quota.ts`,
    find: '  request.accompany(companionFor(deps, charge, mutex));',
    replace: '',
  },
  {
    name: 'finalizers-ignored',
    harm: 'what is deleted goes although somebody holds it by a finalizer',
    file: `${API}/verbs/deletion-holds.ts`,
    find: '  if ((object.metadata.finalizers ?? []).length > 0) return true;',
    replace: '',
  },
  {
    name: 'grace-extended',
    harm: 'a second deletion with a longer grace makes the first one longer',
    file: `${API}/verbs/deletion.ts`,
    find: '  if (wanted >= running) return unchanged;',
    replace: '  if (wanted === running) return unchanged;',
  },
  {
    name: 'uid-precondition-ignored',
    harm: 'a deletion of one pod removes the next one of the same name',
    file: `${API}/verbs/delete.ts`,
    find: '  if (uid !== undefined && uid !== metadata.uid) {',
    replace: '  if (uid === "") {',
  },
  {
    name: 'binding-overwrites',
    harm: 'a binding moves a pod that has a node already',
    file: `${API}/subresources/binding.ts`,
    find: "  if ((spec?.nodeName ?? '') !== '') {",
    replace: "  if ((spec?.nodeName ?? '') === 'none') {",
  },
  {
    name: 'update-without-compare',
    harm: 'an update overwrites what somebody else has written meanwhile',
    file: 'libs/store/src/internal/operations.ts',
    find: '  if (current.revision === operation.expectedRevision) return undefined;',
    replace: "  if (current.revision === operation.expectedRevision || operation.kind === 'update') return undefined;",
  },
  {
    name: 'anybody-forces',
    harm: 'a controller may remove the pods of a node that is only unreachable',
    edits: [
      {
        file: `${API}/admission/plugins/pod-ownership.ts`,
        find: "  if (deps.ownershipRule === 'enforced') await refuseUnlessProven(deps, request, pod);",
        replace: '',
      },
      {
        file: `${MANAGER}/controllers/pod-garbage/decide.ts`,
        find: 'nodes.filter((node) => !isNodeReady(node) && hasTaint(node, OUT_OF_SERVICE_TAINT))',
        replace: 'nodes.filter((node) => !isNodeReady(node) || hasTaint(node, OUT_OF_SERVICE_TAINT))',
      },
    ],
  },
  {
    name: 'watch-skips-first',
    harm: 'a watch that goes on from a revision leaves the next change out',
    file: `${API}/cache/event-history.ts`,
    find: 'this.#ring.after(revision)',
    replace: 'this.#ring.after(revision + 1)',
  },
  {
    name: 'watch-repeats-last',
    harm: 'a watch that goes on from a revision tells that one again',
    edits: [
      {
        file: `${API}/cache/event-history.ts`,
        find: 'this.#ring.after(revision)',
        replace: 'this.#ring.after(revision - 1)',
      },
      {
        file: `${API}/cache/watcher.ts`,
        find: '    if (event.revision <= this.#after) return;',
        replace: '    if (event.revision < this.#after) return;',
      },
    ],
  },
  {
    name: 'delete-without-compare',
    harm: 'a deletion removes what somebody else has changed meanwhile',
    file: 'libs/store/src/internal/operations.ts',
    find: '  if (current.revision === operation.expectedRevision) return undefined;',
    replace: "  if (current.revision === operation.expectedRevision || operation.kind === 'delete') return undefined;",
  },
  {
    name: 'create-overwrites',
    harm: 'a creation replaces the object that has the name',
    file: 'libs/store/src/internal/operations.ts',
    find: "    return current === undefined ? undefined : { outcome: 'exists', index, currentRevision: current.revision };",
    replace: '    return undefined;',
  },
  {
    name: 'out-of-service-on-ready',
    harm: 'the pods of a node that is well are taken for dead because of a taint',
    edits: [
      {
        file: `${API}/admission/plugins/pod-ownership.ts`,
        find: '(isFencer || (!isNodeReady(node) && isTerminating(pod)))',
        replace: '(isFencer || isTerminating(pod))',
      },
      {
        file: `${MANAGER}/controllers/pod-garbage/decide.ts`,
        find: 'nodes.filter((node) => !isNodeReady(node) && hasTaint(node, OUT_OF_SERVICE_TAINT))',
        replace: 'nodes.filter((node) => hasTaint(node, OUT_OF_SERVICE_TAINT))',
      },
    ],
  },
  {
    name: 'budget-counts-ending',
    harm: 'an eviction counts pods that are being deleted as available',
    file: `${API}/subresources/disruption-budget.ts`,
    find: '  !isTerminating(pod) &&\n',
    replace: '',
  },
  {
    name: 'cache-skips-while-loading',
    harm: 'the cache of an API server leaves out what is written while it loads',
    file: `${API}/cache/cache-load.ts`,
    find: '  const lastChange = to > from ? await catchUp(deps, caches, { from, to }) : undefined;\n  const revision = lastChange?.revision ?? from;',
    replace: '  const lastChange = undefined as Change | undefined;\n  const revision = to;',
  },
  {
    name: 'relay-leaves-out',
    harm: 'a relay that starts again conceals what it has not published',
    edits: [
      {
        file: `${API}/relay/relay.ts`,
        find: '      return this.#goOnFrom(position.last, position.floor);',
        replace: '      return this.#goOnFrom(current, position.floor);',
      },
      // The chain of the messages and the heartbeats conceal it too; either alone would tell the consumers.
      {
        file: `${API}/relay/channel-tails.ts`,
        find: '      knownAbove = place;',
        replace: '      knownAbove = 0;',
      },
    ],
  },
];
