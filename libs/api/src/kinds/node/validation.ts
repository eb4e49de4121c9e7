import { duplicate, type FieldError, forbidden, invalid, required, Verbatim } from '@holdfast/machinery';
import type { ConfigMapNodeConfigSource, Node, NodeConfigSource } from '../../generated/types.ts';
import { repeats, validateCidr, validateDnsLabel, validateDnsSubdomain, validateText } from '../../validation/check.ts';
import { configMapKeyErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goString, goStringsText, goStructText } from '../../validation/go-text.ts';
import { parseCidr } from '../../validation/ip.ts';
import { validateResourceAmount } from '../../validation/quantities.ts';
import { checkedInSteps, checkedUpdate } from '../checked.ts';
import { validateNodeAnnotations, validateTaints } from './taints.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

/** An update is checked first as a new node, then as a change. A status update is only checked as a change. */
export const nodeChecks = checkedInSteps<Node>(META, {
  whole: (out, node) => {
    validateNodeAnnotations(out, 'metadata.annotations', node.metadata.annotations);
    validateTaints(out, 'metadata.taints', node.spec.taints ?? []);
    validateResources(out, node);
    validatePodCidrs(out, node.spec.podCIDRs ?? []);
  },
  change: validateChange,
  onUpdate: ['whole', 'metadata', 'change'],
});

export const validateNodeStatusUpdate = checkedUpdate<Node>(validateChange);

function validateResources(out: FieldError[], { status }: Readonly<Node>): void {
  for (const list of ['capacity', 'allocatable'] as const) {
    for (const [name, amount] of Object.entries(status[list] ?? {})) {
      validateResourceAmount(out, `status.${list}.${name}`, name, amount);
    }
  }
}

function validatePodCidrs(out: FieldError[], cidrs: readonly string[]): void {
  const path = 'spec.podCIDRs';
  for (const [i, cidr] of cidrs.entries()) validateCidr(out, `${path}[${i}]`, cidr);
  if (cidrs.length < 2) return;
  const families = new Set(cidrs.map((cidr) => parseCidr(cidr)?.ip.family));
  if (families.size < 2 || cidrs.length > 2) {
    const shown = new Verbatim(goStringsText(cidrs));
    out.push(invalid(path, shown, 'may specify no more than one CIDR for each IP family'));
  }
  const isRepeated = repeats<string>();
  for (const [i, cidr] of cidrs.entries()) {
    if (isRepeated(cidr)) out.push(duplicate(`${path}[${i}]`, cidr));
  }
}

/** Values that other components rely on can be set only once. */
function validateChange(out: FieldError[], node: Readonly<Node>, old: Readonly<Node>): void {
  validateNodeAnnotations(out, 'metadata.annotations', node.metadata.annotations);
  validateResources(out, node);
  const addresses = new Set<string>();
  for (const [i, { type, address }] of (node.status.addresses ?? []).entries()) {
    const shown = goStructText('core.NodeAddress', { Type: goString(type), Address: goString(address) });
    if (addresses.has(shown)) out.push(duplicate(`status.addresses[${i}]`, new Verbatim(shown)));
    addresses.add(shown);
  }
  const [before, after] = [old.spec.podCIDRs ?? [], node.spec.podCIDRs ?? []];
  const changed = before.length === after.length ? before.filter((cidr, i) => cidr !== after[i]) : before.slice(0, 1);
  for (const _cidr of changed) {
    out.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  if (old.spec.providerID && old.spec.providerID !== node.spec.providerID) {
    out.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  if (node.spec.configSource !== undefined)
    validateConfigSource(out, 'spec.configSource', node.spec.configSource, false);
  for (const key of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = node.status.config?.[key];
    if (source !== undefined) validateConfigSource(out, `status.config.${key}`, source, true);
  }
  validateTaints(out, 'metadata.taints', node.spec.taints ?? []);
  if ((node.spec.externalID ?? '') !== (old.spec.externalID ?? '')) {
    out.push(forbidden('spec.externalID', 'may not be updated'));
  }
}

function validateConfigSource(
  out: FieldError[],
  path: string,
  source: Readonly<NodeConfigSource>,
  inStatus: boolean,
): void {
  const map = source.configMap;
  if (map === undefined) {
    const shown = new Verbatim(
      goStructText('core.NodeConfigSource', { ConfigMap: '(*core.ConfigMapNodeConfigSource)(nil)' }),
    );
    out.push(invalid(path, shown, 'exactly one reference subfield must be non-nil'));
  }
  if (map !== undefined) validateConfigMapSource(out, `${path}.configMap`, map, inStatus);
}

function validateConfigMapSource(
  out: FieldError[],
  path: string,
  map: Readonly<ConfigMapNodeConfigSource>,
  inStatus: boolean,
): void {
  for (const key of ['uid', 'resourceVersion'] as const) {
    if (inStatus && !map[key]) out.push(required(`${path}.${key}`, `${key} must be set in status`));
    if (!inStatus && map[key]) out.push(forbidden(`${path}.${key}`, `${key} must not be set in spec`));
  }
  if (!map.namespace) out.push(required(`${path}.namespace`, 'namespace must be set'));
  else validateDnsLabel(out, `${path}.namespace`, map.namespace);
  if (!map.name) out.push(required(`${path}.name`, 'name must be set'));
  else validateDnsSubdomain(out, `${path}.name`, map.name);
  if (!map.kubeletConfigKey) out.push(required(`${path}.kubeletConfigKey`, 'kubeletConfigKey must be set'));
  else validateText(out, `${path}.kubeletConfigKey`, map.kubeletConfigKey, configMapKeyErrors);
}
