import { fieldErrorMessage } from '@holdfast/machinery';
import { DEFAULT_FEATURES, type Features } from '../../features.ts';
import type { Container, Pod, PodSpec } from '../../generated/types.ts';
import { podResource } from './index.ts';

export const NOW = 1_700_000_000_000;

/** A valid pod; a test overrides what it is about. */
export function pod(spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', ...metadata },
    spec: { containers: [container()], ...spec },
    status: {},
  };
}

export const container = (changes: Partial<Container> = {}): Container => ({
  name: 'c',
  image: 'busybox:1.36',
  resources: {},
  ...changes,
});

/** Applies defaults and prepares the pod as for the store. */
export function created(object: Pod, features: Partial<Features> = {}): Pod {
  const copy = structuredClone(object);
  podResource.setDefaults(copy);
  podResource.strategy.prepareForCreate(copy, { now: NOW, features: { ...DEFAULT_FEATURES, ...features } });
  copy.metadata.resourceVersion = '1';
  return copy;
}

/** Returns the errors of creating the pod. */
export const createErrors = (object: Pod, features: Partial<Features> = {}): readonly string[] =>
  podResource.strategy.validateCreate(created(object, features), { now: NOW }).map(fieldErrorMessage);

/** Returns the first line of each error of the change, because a diff may follow. */
export function updateErrors(old: Pod, change: (pod: Pod) => void): readonly string[] {
  const before = created(old);
  const after = structuredClone(before);
  change(after);
  podResource.setDefaults(after);
  podResource.strategy.prepareForUpdate(after, before, { now: NOW });
  return podResource.strategy
    .validateUpdate(after, before, { now: NOW })
    .map((error) => fieldErrorMessage(error).split('\n', 1)[0] ?? '');
}
