// Planted bugs of the kubelet; see ../planted.mjs.
const KUBELET = 'services/kubelet/src';

export const KUBELET_BUGS = [
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
    name: 'admits-beyond-room',
    harm: 'a node runs pods that ask together for more than it has',
    file: `${KUBELET}/domain/admit-pod.ts`,
    find: '    if (used + requested > capacity) return outOf(',
    replace: '    if (requested > capacity) return outOf(',
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
    find: '    if (needsAttach(volume) && !isAttachedForPod(volume, nodeName, uid))\n      throw new AttachWait(waitMessage(volume, nodeName));',
    replace: '',
  },
  {
    name: 'volume-released-before-end',
    harm: 'a kubelet says that it no longer uses a volume while processes of the pod still end',
    file: `${KUBELET}/volumes/volume-attachments.ts`,
    find: '  return isEnding && sandboxes.length === 0;',
    replace: '  return isEnding;',
  },
  {
    name: 'kubelet-forgets-volumes',
    harm: 'a restarted kubelet forgets which volumes its pods use',
    file: `${KUBELET}/volumes/volume-attachments.ts`,
    find: '      if (uid === undefined || name === undefined || !this.#deps.isHere(uid)) continue;',
    replace: '      if (uid !== name) continue;',
  },
  {
    name: 'starts-without-asking',
    harm: 'a kubelet starts an exclusive pod without asking whether it is still wanted',
    file: `${KUBELET}/self-fencing/exclusive-starts.ts`,
    find: 'const current = await client.find(PODS, { namespace, name }).catch(',
    replace: 'const current = await Promise.resolve({ client, name, namespace, ...pod }).catch(',
  },
  {
    name: 'uses-before-saying',
    harm: 'a kubelet uses a volume before the API has heard that it does',
    file: `${KUBELET}/volumes/volume-attachments.ts`,
    find: '    throw new AttachWait(`this node has yet to say that it uses the volume "${name}"`);',
    replace: '',
  },
  {
    name: 'promise-without-answer',
    harm: 'a node extends its promise although the API has not acknowledged it',
    file: `${KUBELET}/self-fencing/promise-keeper.ts`,
    find: 'this.#lease = await bounded(clock, PROMISE_ANSWER_MS, writing);',
    replace: 'this.#lease = await bounded(clock, PROMISE_ANSWER_MS, writing).catch(() => this.#lease);',
  },
  {
    name: 'ready-before-clear',
    harm: 'a node is ready while processes of pods run there that no longer exist',
    file: `${KUBELET}/pod/pod-manager.ts`,
    find: '    if (this.#toClear.size === 0) return undefined;\n    const names',
    replace: '    if (this.#toClear.size >= 0) return undefined;\n    const names',
  },
  {
    name: 'grace-not-given',
    harm: 'a kubelet kills a container without the time that it may take',
    file: `${KUBELET}/domain/decide-kill.ts`,
    find: '{ graceSeconds: containerShare(pod, memory, now), waits }',
    replace: '{ graceSeconds: 0 * containerShare(pod, memory, now), waits }',
  },
];
