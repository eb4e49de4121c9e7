import { duplicate, type FieldError, forbidden, invalid } from '@holdfast/machinery';
import type { ContainerStatus, Pod } from '../../generated/types.ts';
import { sidecarsOf } from '../../semantics/pods.ts';
import { validateDnsSubdomain, validateIp, validateQualifiedName } from '../../validation/check.ts';
import { unixIdErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { parseIp } from '../../validation/ip.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { validatePodAnnotations, validatePodAnnotationUpdate } from '../../validation/pod/annotations.ts';

const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

export function validatePodStatusUpdate(pod: Readonly<Pod>, old: Readonly<Pod>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, pod.metadata, old.metadata);
  validatePodAnnotationUpdate(out, 'metadata.annotations', pod.metadata.annotations, old.metadata.annotations);
  validatePodAnnotations(out, 'metadata.annotations', pod.metadata.annotations, pod.spec);
  for (const [i, { type }] of (pod.status.conditions ?? []).entries()) {
    if (!SYSTEM_CONDITIONS.has(type)) validateQualifiedName(out, `metadata.conditions[${i}].Type`, type);
  }
  if ((pod.spec.nodeName ?? '') !== (old.spec.nodeName ?? '')) {
    out.push(forbidden('status.nodeName', 'may not be changed directly'));
  }
  const nominated = pod.status.nominatedNodeName;
  if (nominated && nominated !== old.status.nominatedNodeName) {
    validateDnsSubdomain(out, 'status.nominatedNodeName', nominated);
  }
  if ((pod.status.qosClass ?? '') !== (old.status.qosClass ?? '')) {
    out.push(invalid('status.qosClass', pod.status.qosClass ?? '', IMMUTABLE_TEXT));
  }
  validateTransitions(out, pod, old);
  validateAddresses(out, 'status.podIPs', pod.status.podIPs ?? []);
  validateHostAddresses(out, pod);
  validateUsers(out, pod);
  return out;
}

/** A terminal state is final. */
function validateTransitions(out: FieldError[], pod: Readonly<Pod>, old: Readonly<Pod>): void {
  const policy = old.spec.restartPolicy ?? '';
  const sidecars = new Set(sidecarsOf(pod.spec).map((c) => c.name));
  const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;
  for (const list of lists) {
    const restarts = list === 'ephemeralContainerStatuses' ? 'Never' : policy;
    if (restarts === 'Always') continue;
    const revived = namesNotEnded(pod.status[list] ?? []);
    for (const [i, before] of (old.status[list] ?? []).entries()) {
      const ended = before.state.terminated;
      if (ended === undefined || (ended.exitCode !== 0 && restarts === 'OnFailure')) continue;
      if (list === 'initContainerStatuses' && sidecars.has(before.name)) continue;
      if (!revived.has(before.name)) continue;
      out.push(forbidden(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state'));
    }
  }
}

const namesNotEnded = (statuses: readonly ContainerStatus[]): ReadonlySet<string> =>
  new Set(statuses.filter(({ state }) => state.terminated === undefined).map(({ name }) => name));

const typeOf = (path: string): string => (path.endsWith('hostIPs') ? 'core.HostIP' : 'core.PodIP');

/** At most one address per IP family. */
function validateAddresses(out: FieldError[], path: string, addresses: readonly { readonly ip?: string }[]): void {
  for (const [i, { ip = '' }] of addresses.entries()) validateIp(out, `${path}[${i}]`, ip);
  if (addresses.length < 2) return;
  const families = new Set(addresses.map(({ ip = '' }) => parseIp(ip)?.family));
  const detail = 'may specify no more than one IP for each IP family';
  const tooMany = invalid(path, goValue(`[]${typeOf(path)}`, addresses), detail);
  const isTooMany = families.size < 2 || addresses.length > 2;
  const isOfHost = typeOf(path) === 'core.HostIP';
  if (isTooMany && !isOfHost) out.push(tooMany);
  const seen = new Set<string>();
  for (const [i, address] of addresses.entries()) {
    if (seen.has(address.ip ?? '')) out.push(duplicate(`${path}[${i}]`, goValue(typeOf(path), address)));
    seen.add(address.ip ?? '');
  }
  if (isTooMany && isOfHost) out.push(tooMany);
}

function validateHostAddresses(out: FieldError[], { status }: Readonly<Pod>): void {
  const [first] = status.hostIPs ?? [];
  if (first === undefined) return;
  if ((status.hostIP ?? '') !== (first.ip ?? '')) {
    out.push(invalid('status.hostIPs[0].ip', first.ip ?? '', 'must be equal to `hostIP`'));
  }
  validateAddresses(out, 'status.hostIPs', status.hostIPs ?? []);
}

function validateUsers(out: FieldError[], pod: Readonly<Pod>): void {
  const windows = pod.spec.os?.name === 'windows';
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const) {
    for (const [i, { user }] of (pod.status[list] ?? []).entries()) {
      const path = `status.${list}[${i}].linux`;
      if (user?.linux === undefined) continue;
      if (windows) out.push(forbidden(path, 'cannot be set for a windows pod'));
      else {
        validateId(out, `${path}.uid`, user.linux.uid);
        validateId(out, `${path}.gid`, user.linux.gid);
        for (const [j, id] of (user.linux.supplementalGroups ?? []).entries()) {
          validateId(out, `${path}.supplementalGroups[${j}]`, id);
        }
      }
    }
  }
}

function validateId(out: FieldError[], path: string, id: number): void {
  for (const text of unixIdErrors(id)) out.push(invalid(path, id, text));
}
