import { duplicate, type FieldError, invalid, required, tooMany } from '@holdfast/machinery';
import type { DiscoveryV1EndpointPort, Endpoint, EndpointSlice } from '../../generated/types.ts';
import {
  validateDnsLabel,
  validateDnsSubdomain,
  validateQualifiedName,
  validateRequiredText,
  validateRequiredWord,
  validateText,
} from '../../validation/check.ts';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors } from '../../validation/formats.ts';
import { parseIp } from '../../validation/ip.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { PROTOCOLS } from '../../validation/pod/container-ports.ts';
import { validateNotSpecialIp } from '../../validation/special-ip.ts';
import { checked } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors, wholeOnUpdate: true } as const;
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const ENDPOINTS_MAX = 1000;
const ADDRESSES_MAX = 100;
const PORTS_MAX = 20_000;
const TOPOLOGY_KEYS_MAX = 16;
const ZONE_HINTS_MAX = 8;

export const endpointSliceChecks = checked<EndpointSlice>(META, (out, slice, old) => {
  validateRequiredWord(out, 'addressType', slice.addressType, ADDRESS_TYPES);
  validateEndpoints(out, slice);
  validatePorts(out, slice.ports ?? []);
  if (old !== undefined && slice.addressType !== old.addressType) {
    out.push(invalid('addressType', slice.addressType ?? '', IMMUTABLE_TEXT));
  }
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
    validateDnsSubdomain(out, path, address);
    return;
  }
  if (type !== 'IPv4' && type !== 'IPv6') return;
  if (parseIp(address)?.family !== type) out.push(invalid(path, address, `must be a valid ${type} address`));
  validateNotSpecialIp(out, path, address);
}

function validateDetails(out: FieldError[], path: string, endpoint: Readonly<Endpoint>): void {
  if (endpoint.hostname !== undefined) validateDnsLabel(out, `${path}.hostname`, endpoint.hostname);
  if (endpoint.nodeName !== undefined) validateDnsSubdomain(out, `${path}.nodeName`, endpoint.nodeName);
  const topology = endpoint.deprecatedTopology ?? {};
  const keys = Object.keys(topology);
  if (keys.length > TOPOLOGY_KEYS_MAX) out.push(tooMany(`${path}.deprecatedTopology`, keys.length, TOPOLOGY_KEYS_MAX));
  for (const key of keys) {
    validateQualifiedName(out, `${path}.deprecatedTopology`, key);
    validateText(out, `${path}.deprecatedTopology`, topology[key] ?? '', labelValueErrors);
  }
  const zones = endpoint.hints?.forZones ?? [];
  if (zones.length > ZONE_HINTS_MAX) out.push(tooMany(`${path}.hints.forZones`, zones.length, ZONE_HINTS_MAX));
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
    if (validateRequiredText(out, `${path}.protocol`, port.protocol)) {
      validateRequiredWord(out, `${path}.protocol`, port.protocol, PROTOCOLS);
    }
    if (port.appProtocol !== undefined) validateQualifiedName(out, `${path}.appProtocol`, port.appProtocol);
  }
}
