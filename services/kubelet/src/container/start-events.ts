import type { Container, Pod } from '@holdfast/api';
import { notEnforced } from '../domain/refusals.ts';
import type { PodEvent } from './pod-events.ts';

export const alreadyPresent = ({ name, image = '' }: Container): PodEvent => ({
  type: 'Normal',
  reason: 'Pulled',
  message: `Container image "${image}" already present on machine`,
  container: name,
});

export const created = ({ name }: Container): PodEvent => ({
  type: 'Normal',
  reason: 'Created',
  message: `Created container: ${name}`,
  container: name,
});

export const started = ({ name }: Container): PodEvent => ({
  type: 'Normal',
  reason: 'Started',
  message: `Started container ${name}`,
  container: name,
});

/** The event has the form of a container that could not be created, so that one search finds both. */
export const notStarted = ({ name }: Container, message: string): PodEvent => ({
  type: 'Warning',
  reason: 'Failed',
  message: `Error: ${message}`,
  container: name,
});

/** Reports limits and restrictions that are not enforced here. */
export function notEnforcedEvent(
  pod: Pod,
  container: Container,
  abilities: Parameters<typeof notEnforced>[2],
): PodEvent | undefined {
  const fields = notEnforced(pod, container, abilities);
  if (fields.length === 0) return undefined;
  const message = `Not enforced for processes of this node: ${fields.join(', ')}`;
  return { type: 'Warning', reason: 'NotEnforced', message, container: container.name };
}

export const missingDns = ({ spec }: Pod): PodEvent => ({
  type: 'Warning',
  reason: 'MissingClusterDNS',
  message: `kubelet does not have ClusterDNS IP configured and cannot create Pod using "${spec.dnsPolicy ?? ''}" policy. Falling back to "Default" policy.`,
});
