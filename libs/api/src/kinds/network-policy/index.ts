import { type FieldError, forbidden, formatLabelSelector, invalid, notSupported, required } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../generated/types.ts';
import { NETWORK_POLICIES } from '../../refs.ts';
import { validateCidr, validateText } from '../../validation/check.ts';
import { dnsSubdomainErrors, portNameErrors, portNumberErrors } from '../../validation/formats.ts';
import { goStrings } from '../../validation/go-text.ts';
import { cidrContains, parseCidr } from '../../validation/ip.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare, specChanged } from '../strategy.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;
const TYPES = ['Ingress', 'Egress'];

export const networkPolicyResource = defineResource(NETWORK_POLICIES, {
  setDefaults: setNetworkPolicyDefaults,
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<NetworkPolicy>(META, {
      whole: (out, { spec }) => validateSpec(out, spec),
      change: (out, { spec }) => validateSpec(out, spec),
      onUpdate: ['whole', 'metadata', 'change'],
    }),
    generationChanges: specChanged,
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Pod-Selector', 'The pods that the policy is for', ({ spec }) => formatLabelSelector(spec.podSelector)),
    ageColumn,
  ],
});

function setNetworkPolicyDefaults(policy: NetworkPolicy): void {
  setDefault(policy, 'spec', { podSelector: {} });
  const { spec } = policy;
  setDefault(spec, 'podSelector', {});
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
    for (const port of rule.ports ?? []) setDefault(port, 'protocol', 'TCP');
  }
  // A policy with egress rules also covers egress; every policy covers ingress.
  if ((spec.policyTypes ?? []).length === 0) {
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
  }
}

function validateSpec(out: FieldError[], spec: Readonly<NetworkPolicySpec>): void {
  validateLabelSelector(out, 'spec.podSelector', spec.podSelector);
  for (const [i, rule] of (spec.ingress ?? []).entries()) {
    validateRule(out, `spec.ingress[${i}]`, rule.ports ?? [], { name: 'from', peers: rule.from ?? [] });
  }
  for (const [i, rule] of (spec.egress ?? []).entries()) {
    validateRule(out, `spec.egress[${i}]`, rule.ports ?? [], { name: 'to', peers: rule.to ?? [] });
  }
  const types = spec.policyTypes ?? [];
  if (types.length > TYPES.length) {
    out.push(
      invalid(
        'spec.policyTypes',
        goStrings(types, 'networking.PolicyType'),
        'may not specify more than two policyTypes',
      ),
    );
    return;
  }
  for (const [i, type] of types.entries()) {
    if (!TYPES.includes(type)) out.push(notSupported(`spec.policyTypes[${i}]`, type, TYPES));
  }
}

function validateRule(
  out: FieldError[],
  path: string,
  ports: readonly NetworkPolicyPort[],
  { name, peers }: { readonly name: string; readonly peers: readonly NetworkPolicyPeer[] },
): void {
  for (const [i, port] of ports.entries()) validatePort(out, `${path}.ports[${i}]`, port);
  for (const [i, peer] of peers.entries()) validatePeer(out, `${path}.${name}[${i}]`, peer);
}

function validatePort(out: FieldError[], path: string, { protocol, port, endPort }: Readonly<NetworkPolicyPort>): void {
  const protocols = ['TCP', 'UDP', 'SCTP'];
  if (protocol !== undefined && !protocols.includes(protocol)) {
    out.push(notSupported(`${path}.protocol`, protocol, protocols));
  }
  if (typeof port === 'number') {
    for (const text of portNumberErrors(port)) out.push(invalid(`${path}.port`, port, text));
    if (endPort === undefined) return;
    if (endPort < port) out.push(invalid(`${path}.endPort`, port, 'must be greater than or equal to `port`'));
    for (const text of portNumberErrors(endPort)) out.push(invalid(`${path}.endPort`, endPort, text));
    return;
  }
  if (endPort !== undefined) {
    const what = port === undefined ? 'not specified' : 'non-numeric';
    out.push(invalid(`${path}.endPort`, endPort, `may not be specified when \`port\` is ${what}`));
  }
  if (port !== undefined) validateText(out, `${path}.port`, port, portNameErrors);
}

function validatePeer(out: FieldError[], path: string, peer: Readonly<NetworkPolicyPeer>): void {
  validateLabelSelector(out, `${path}.podSelector`, peer.podSelector);
  validateLabelSelector(out, `${path}.namespaceSelector`, peer.namespaceSelector);
  if (peer.ipBlock !== undefined) validateIpBlock(out, `${path}.ipBlock`, peer.ipBlock);
  const bySelector = peer.podSelector !== undefined || peer.namespaceSelector !== undefined;
  if (!bySelector && peer.ipBlock === undefined) out.push(required(path, 'must specify a peer'));
  if (bySelector && peer.ipBlock !== undefined) {
    out.push(forbidden(path, 'may not specify both ipBlock and another peer'));
  }
}

function validateIpBlock(out: FieldError[], path: string, block: Readonly<IPBlock>): void {
  if (!block.cidr) {
    out.push(required(`${path}.cidr`));
    return;
  }
  validateCidr(out, `${path}.cidr`, block.cidr);
  const outer = parseCidr(block.cidr);
  if (outer === undefined) return;
  for (const [i, text] of (block.except ?? []).entries()) {
    validateCidr(out, `${path}.except[${i}]`, text);
    const inner = parseCidr(text);
    if (inner === undefined || (cidrContains(outer, inner) && inner.prefix > outer.prefix)) continue;
    out.push(invalid(`${path}.except[${i}]`, text, 'must be a strict subset of `cidr`'));
  }
}
