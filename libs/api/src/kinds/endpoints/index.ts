import { type FieldError, invalid, required } from '@holdfast/machinery';
import { ageColumn, NONE, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefaultOfZero } from '../../defaults/set.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../../generated/types.ts';
import { ENDPOINTS } from '../../refs.ts';
import {
  validateDnsLabel,
  validateDnsSubdomain,
  validateIp,
  validateQualifiedName,
  validateRequiredWord,
} from '../../validation/check.ts';
import { dnsSubdomainErrors, portNumberErrors } from '../../validation/formats.ts';
import { PROTOCOLS } from '../../validation/pod/container-ports.ts';
import { validateNotSpecialIp } from '../../validation/special-ip.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: true, name: dnsSubdomainErrors, wholeOnUpdate: true } as const;
const SHOWN_ADDRESSES_MAX = 3;

export const endpointsResource = defineResource(ENDPOINTS, {
  setDefaults: (endpoints) => {
    for (const subset of endpoints.subsets ?? []) {
      for (const port of subset.ports ?? []) setDefaultOfZero(port, 'protocol', 'TCP');
    }
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checked<Endpoints>(META, (out, endpoints) => {
      for (const [i, subset] of (endpoints.subsets ?? []).entries()) validateSubset(out, `subsets[${i}]`, subset);
    }),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: [nameColumn, textColumn('Endpoints', 'Addresses and ports behind the service', endpointsText), ageColumn],
});

function endpointsText({ subsets = [] }: Readonly<Endpoints>): string {
  if (subsets.length === 0) return NONE;
  const all = subsets.flatMap((subset) => addressesOf(subset));
  const shown = all.slice(0, SHOWN_ADDRESSES_MAX).join(',');
  const more = all.length - SHOWN_ADDRESSES_MAX;
  return more > 0 ? `${shown} + ${more} more...` : shown;
}

function addressesOf({ addresses = [], ports = [] }: Readonly<EndpointSubset>): readonly string[] {
  if (ports.length === 0) return addresses.map(({ ip }) => ip);
  return ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip ?? '', port)));
}

const hostPort = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);

function validateSubset(out: FieldError[], path: string, subset: Readonly<EndpointSubset>): void {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  if (addresses.length === 0 && notReadyAddresses.length === 0) {
    out.push(required(path, 'must specify `addresses` or `notReadyAddresses`'));
  }
  for (const [i, address] of addresses.entries()) validateAddress(out, `${path}.addresses[${i}]`, address);
  for (const [i, address] of notReadyAddresses.entries()) {
    validateAddress(out, `${path}.notReadyAddresses[${i}]`, address);
  }
  for (const [i, port] of ports.entries()) validatePort(out, `${path}.ports[${i}]`, port, ports.length > 1);
}

function validateAddress(out: FieldError[], path: string, address: Readonly<EndpointAddress>): void {
  validateIp(out, `${path}.ip`, address.ip ?? '');
  if (address.hostname) validateDnsLabel(out, `${path}.hostname`, address.hostname);
  if (address.nodeName !== undefined) validateDnsSubdomain(out, `${path}.nodeName`, address.nodeName);
  validateNotSpecialIp(out, `${path}.ip`, address.ip ?? '');
}

function validatePort(out: FieldError[], path: string, port: Readonly<EndpointPort>, needsName: boolean): void {
  if (port.name) validateDnsLabel(out, `${path}.name`, port.name);
  else if (needsName) out.push(required(`${path}.name`));
  for (const text of portNumberErrors(port.port ?? 0)) out.push(invalid(`${path}.port`, port.port ?? 0, text));
  validateRequiredWord(out, `${path}.protocol`, port.protocol, PROTOCOLS);
  if (port.appProtocol !== undefined) validateQualifiedName(out, `${path}.appProtocol`, port.appProtocol);
}
