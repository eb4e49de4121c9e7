/** By id of a sandbox or container. */
export type StatesById = ReadonlyMap<string, { readonly podUid: string; readonly state: string | number }>;

/** The pods of which something is new, gone or in another state. */
export function changedPods(before: StatesById, now: StatesById): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const [id, { podUid, state }] of now) if (before.get(id)?.state !== state) changed.add(podUid);
  for (const [id, { podUid }] of before) if (!now.has(id)) changed.add(podUid);
  return changed;
}
