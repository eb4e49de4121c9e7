import { createSharedStates, type SharedStates } from '@holdfast/apiserver';
import { FirstLists } from './first-lists.ts';
import type { ClusterState } from './state.ts';

/** What the first cluster that continues from a state has made of it, for all others. Nothing of it ever changes. */
export interface Handover {
  readonly states: SharedStates;
  readonly lists: FirstLists;
}

const ofStates = new WeakMap<ClusterState, Handover>();

export function handoverOf(state: ClusterState): Handover {
  const known = ofStates.get(state);
  if (known !== undefined) return known;
  const made = { states: createSharedStates(), lists: new FirstLists() };
  ofStates.set(state, made);
  return made;
}
