import { duplicate, type FieldError, invalid, required, tooMany } from '@holdfast/machinery';
import type { DiscoveryV1EndpointPort, Endpoint, EndpointSlice } from '../../generated/types.ts';
import {
  validateDnsLabel,
  validateDnsSubdomain,
  validateQualifiedName,
  validateRequiredText,
  validateRequiredWord,
  validateText,
  validateWord,
} from '../../validation/check.ts';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors } from '../../validation/formats.ts';
import { parseIp } from '../../validation/ip.ts';
import { validateLabels } from '../../validation/labels.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { PROTOCOLS } from '../../validation/pod/container-ports.ts';
import { validateNotSpecialIp } from '../../validation/special-ip.ts';
import { checkedInSteps } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const ENDPOINTS_MAX = 1000;
const ADDRESSES_MAX = 100;
const PORTS_MAX = 20_000;
const TOPOLOGY_KEYS_MAX = 16;
const ZONE_HINTS_MAX = 8;

export const endpointSliceChecks = checkedInSteps<EndpointSlice>(META, {
  whole: (out, slice) => {
    validateRequiredWord(out, 'addressType', slice.addressType, ADDRESS_TYPES);
    validateEndpoints(out, slice);
    validatePorts(out, slice.ports ?? []);
  },
  change: (out, { addressType }, old) => {
    if (addressType !== old.addressType) out.push(invalid('addressType', addressType ?? '', IMMUTABLE_TEXT));
  },
  onUpdate: ['whole', 'change'],
});

function validateEndpoints(out: FieldError[], { endpoints, addressType }: Readonly<EndpointSlice>): void {
  const list = endpoints ?? [];
  if (list.length > ENDPOINTS_MAX) {
    out.push(tooMany('endpoints', list.length, ENDPOINTS_MAX));
    return;
  }
  for (const [i, endpoint] of list.entries()) {
    const path = `endpoints[${i}]`;
    const addresses = endpoint.addresses ?? [];
    if (addresses.length === 0) out.push(required(`${path}.addresses`, 'must contain at least 1 address'));
    else if (addresses.length > ADDRESSES_MAX) out.push(tooMany(`${path}.addresses`, addresses.length, ADDRESSES_MAX));
    for (const [j, address] of addresses.entries()) {
      validateAddress(out, `${path}.addresses[${j}]`, address, addressType ?? '');
    }
    validateDetails(out, path, endpoint);
  }
}

function validateAddress(out: FieldError[], path: string, address: string, type: string): void {
  if (type === 'FQDN') {
    validateDomain(out, path, address);
    return;
  }
  if (type !== 'IPv4' && type !== 'IPv6') return;
  if (parseIp(address)?.family !== type) out.push(invalid(path, address, `must be a valid ${type} address`));
  validateNotSpecialIp(out, path, address);
}

/** `example.com`, or `example.com.` */
function validateDomain(out: FieldError[], path: string, address: string): void {
  if (!validateRequiredText(out, path, address)) return;
  const name = address.endsWith('.') ? address.slice(0, -1) : address;
  const errors = dnsSubdomainErrors(name);
  const labels = name.split('.');
  if (errors.length > 0) out.push(invalid(path, name, errors.join(',')));
  else if (labels.length < 2) {
    out.push(invalid(path, name, 'should be a domain with at least two segments separated by dots'));
  } else {
    const long = labels.find((label) => dnsLabelErrors(label).length > 0);
    if (long !== undefined) out.push(invalid(path, long, dnsLabelErrors(long).join(',')));
  }
}

function validateDetails(out: FieldError[], path: string, endpoint: Readonly<Endpoint>): void {
  if (endpoint.nodeName !== undefined) validateDnsSubdomain(out, `${path}.nodeName`, endpoint.nodeName);
  const topology = endpoint.deprecatedTopology ?? {};
  const keys = Object.keys(topology).length;
  if (keys > TOPOLOGY_KEYS_MAX) out.push(tooMany(`${path}.deprecatedTopology`, keys, TOPOLOGY_KEYS_MAX));
  validateLabels(out, `${path}.deprecatedTopology`, topology);
  if (endpoint.hostname !== undefined) validateDnsLabel(out, `${path}.hostname`, endpoint.hostname);
  const zones = endpoint.hints?.forZones ?? [];
  if (zones.length > ZONE_HINTS_MAX) {
    out.push(tooMany(`${path}.hints.forZones`, zones.length, ZONE_HINTS_MAX));
    return;
  }
  const seen = new Set<string>();
  for (const [i, { name }] of zones.entries()) {
    const at = `${path}.hints.forZones[${i}].name`;
    if (seen.has(name)) out.push(duplicate(at, name));
    seen.add(name);
    validateText(out, at, name ?? '', labelValueErrors);
  }
}

function validatePorts(out: FieldError[], ports: readonly DiscoveryV1EndpointPort[]): void {
  if (ports.length > PORTS_MAX) {
    out.push(tooMany('ports', ports.length, PORTS_MAX));
    return;
  }
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const path = `ports[${i}]`;
    const name = port.name ?? '';
    if (name !== '') validateText(out, `${path}.name`, name, dnsLabelErrors);
    if (names.has(name)) out.push(duplicate(`${path}.name`, name));
    names.add(name);
    validateWord(out, `${path}.protocol`, port.protocol, PROTOCOLS);
    if (port.appProtocol !== undefined) validateQualifiedName(out, `${path}.appProtocol`, port.appProtocol);
  }
}
