// Bugs that are planted into the product for one run, each as exact changes of its sources. When a source changes, the
// test of this table names the entry that no longer fits. Plain JavaScript: the hook that plants them runs before
// anything else is loaded.
import { CLIENT_BUGS } from './planted/client.mjs';
import { KUBELET_BUGS } from './planted/kubelet.mjs';
import { MANAGERS_BUGS } from './planted/managers.mjs';
import { SERVER_BUGS } from './planted/server.mjs';

/** `harm` is what happens, in the words of an operator. */
export const PLANTED_BUGS = [
  {
    name: 'confirms-before-stop',
    harm: 'a kubelet removes the object of a pod whose processes still end',
    file: `${KUBELET}/domain/decide-pod.ts`,
    find: `  if (!kill.allDead) {
    const status = statusOf(observation, pod, { memory: kill.memory, now: at.now, stage: 'ending' });
    return { ...kill, actions: [...kill.actions, ...writeIfChanged(pod, status, at.memory)] };
  }
  const final`,
    replace: `  if (!kill.allDead && !memory.deleteRequested) {
    return { ...kill, memory: { ...kill.memory, deleteRequested: true }, actions: [...kill.actions, { kind: 'deletePod' }] };
  }
  const final`,
  },
  {
    name: 'new-uid-beside-old',
    harm: 'a kubelet starts a new pod while the old one of its name still ends there',
    file: `${KUBELET}/pod/pod-manager.ts`,
    find: 'this.#peers(asking).some((peer) => peer.mayHaveProcesses())',
    replace: 'this.#peers(asking).length < 0',
  },
  {
    name: 'kubelet-forgets-runtime',
    harm: 'a restarted kubelet does not look at what its runtime runs',
    file: `${KUBELET}/pod/pod-manager.ts`,
    find: '    for (const { config } of sandboxes) {',
    replace: '    for (const { config } of sandboxes.slice(sandboxes.length)) {',
  },
  {
    name: 'ended-pod-runs-again',
    harm: 'a kubelet runs a pod again whose phase is final',
    file: `${KUBELET}/domain/decide-pod.ts`,
    find: '  if (isPodFinished(pod)) return decideEnded(observation, pod, { memory, now });',
    replace: '',
  },
  {
    name: 'kubelet-leaves-objects',
    harm: 'a kubelet asks once for the removal of a pod and never again',
    file: `${KUBELET}/pod/pod-worker.ts`,
    find: '        this.#memory = { ...this.#memory, deleteRequested: false };',
    replace: '',
  },
  {
    name: 'starts-without-attachment',
    harm: 'a kubelet starts a pod whose volume is attached to another node',
    file: `${KUBELET}/volumes/volume-attachments.ts`,
    find: '    if (!isAttachedTo(volume, nodeName, uid)) throw new AttachWait(waitMessage(volume, nodeName));',
    replace: '',
  },
  {
    name: 'volume-released-before-end',
    harm: 'a kubelet says that it no longer uses a volume while processes of the pod still end',
    file: `${KUBELET}/volumes/volume-attachments.ts`,
    find: '    if (isEnding && sandboxes.length === 0) this.#release(uid);',
    replace: '    if (isEnding) this.#release(uid);',
  },
  {
    name: 'kubelet-forgets-volumes',
    harm: 'a restarted kubelet forgets which volumes its pods use',
    file: `${KUBELET}/volumes/volume-attachments.ts`,
    find: '      if (uid === undefined || name === undefined || !this.#deps.isHere(uid)) continue;',
    replace: '      if (uid !== name) continue;',
  },
  {
    name: 'detach-without-word',
    harm: 'a volume is detached from a node that says it uses it',
    file: `${MANAGER}/controllers/attach-detach/index.ts`,
    find: '      if (!isReleased(node, lease, nameOf(volume))) return { requeueAfterMs: ATTACH_RECHECK_MS };',
    replace: '      if (!isReleased(undefined, lease, nameOf(volume))) return {};',
  },
  {
    name: 'users-gone-by-cache',
    harm: 'a volume is taken from a pod that only the cache has lost',
    file: `${MANAGER}/controllers/attach-detach/index.ts`,
    find: '    const live = await client.find(PODS, { namespace, name });',
    replace: '    const live = undefined as Pod | undefined;',
  },
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
    file: `${API}/subresources/disruption-budget.ts`,
    find: `  await catchUp(core);
  const healthy`,
    replace: '  const healthy',
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
    name: 'queue-loses-wake-up',
    harm: 'a work queue forgets a key that changes while it is worked on',
    file: `${CLIENT}/work-queue.ts`,
    find: '    if (this.#dirty.has(key) && !this.#shutDown) this.#offer(key);',
    replace: '    this.#dirty.delete(key);',
  },
  {
    name: 'informer-takes-older',
    harm: 'a late message of the bus replaces a newer state in an informer',
    edits: [
      LATE_MESSAGES,
      {
        file: `${CLIENT}/informer/object-cache.ts`,
        find: '      return known.revision >= revision ? undefined : this.#replace(key, known, { object, revision });',
        replace:
          '      return known.revision === revision ? undefined : this.#replace(key, known, { object, revision });',
      },
    ],
  },
  {
    name: 'informer-forgets-deletions',
    harm: 'a late message brings a deleted object back into an informer',
    edits: [
      LATE_MESSAGES,
      {
        file: `${CLIENT}/informer/object-cache.ts`,
        find: '      if ((this.#deletions.get(key) ?? 0) >= revision) return undefined;',
        replace: '',
      },
    ],
  },
  {
    name: 'gap-taken-as-whole',
    harm: 'an informer takes a stream with a gap for complete',
    file: `${CLIENT}/informer/bus-progress.ts`,
    find: "message.previous > last ? 'gap' : 'next'",
    replace: "message.previous < 0 ? 'gap' : 'next'",
  },
];

export const editsOf = (bug) => bug.edits ?? [bug];

/** The source with the change; throws where it does not fit any more. */
export function plantInto({ name, file, find, replace }, source) {
  const places = source.split(find).length - 1;
  if (places !== 1)
    throw new Error(`planted bug "${name ?? file}" fits ${places} places of ${file}: adapt it to the source`);
  return source.replace(find, () => replace);
}
