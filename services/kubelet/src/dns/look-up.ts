import { type EndpointSlice, SERVICE_NAME_LABEL, type Service } from '@holdfast/api';
import { addressOfLabel, addressOfReverseName } from './reverse-names.ts';

/** The known names of the cluster. */
export interface KnownNames {
  /** `cluster.local` */
  readonly domain: string;
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, name: string): readonly EndpointSlice[];
  /** Services with this cluster address. */
  servicesAt(address: string): readonly Service[];
  /** Slices that have this address. */
  slicesAt(address: string): readonly EndpointSlice[];
  /** True: who asks reaches the cluster address of this service. Absent: of none. */
  isRouted?(service: Service): boolean;
}

export type FoundRecord =
  | { readonly type: 'A' | 'AAAA'; readonly data: string }
  | { readonly type: 'SRV'; readonly port: number; readonly target: string }
  | { readonly type: 'PTR' | 'TXT'; readonly data: string };

export type Found =
  /** Not a name of this cluster. */
  | { readonly kind: 'outside' }
  | { readonly kind: 'missing' }
  /** Empty: the name exists, with nothing of this type. */
  | { readonly kind: 'records'; readonly records: readonly FoundRecord[] }
  /** An alias for an external name. */
  | { readonly kind: 'alias'; readonly target: string };

const MISSING: Found = { kind: 'missing' };
const NOTHING: Found = { kind: 'records', records: [] };

/**
 * The names of Kubernetes' DNS specification 1.1: services, their ports, and the endpoints of headless ones. Where nothing routes the
 * cluster address of a service, its ready endpoints are the answer: on the network of the machine the address may be a stranger's.
 */
export function lookUp(names: KnownNames, name: string, type: string): Found {
  const asked = name.toLowerCase().replace(/\.$/, '');
  if (asked === names.domain) return NOTHING;
  if (!asked.endsWith(`.${names.domain}`)) return ofAddress(names, asked, type);
  if (asked === `dns-version.${names.domain}`) return ofType({ type: 'TXT', data: SPECIFICATION }, type);
  const labels = asked.slice(0, -names.domain.length - 1).split('.');
  const kind = labels.pop();
  if (kind === 'pod') return ofPod(labels, type);
  if (kind !== 'svc') return MISSING;
  const namespace = labels.pop();
  const serviceName = labels.pop();
  // Services may be below these.
  if (namespace === undefined || serviceName === undefined) return NOTHING;
  const service = names.service(namespace, serviceName);
  if (service === undefined) return MISSING;
  const place = { names, service, base: `${serviceName}.${namespace}.svc.${names.domain}` };
  if (labels.length === 0) return ofService(place, type);
  if (labels.length === 1) return ofEndpoint(place, labels[0] ?? '', type);
  return labels.length === 2 ? ofPort(place, [labels[0] ?? '', labels[1] ?? ''], type) : MISSING;
}

/** The version of the specification that is kept. */
const SPECIFICATION = '1.1.0';

const ofType = (record: FoundRecord, type: string): Found =>
  type === record.type || type === 'ANY' ? { kind: 'records', records: [record] } : NOTHING;

/** Names of addresses of services, and of endpoints with a host name. Others belong to other servers. */
function ofAddress(names: KnownNames, asked: string, type: string): Found {
  const address = addressOfReverseName(asked);
  if (address === undefined) return { kind: 'outside' };
  const services = names.servicesAt(address).map(({ metadata }) => `${metadata.name}.${metadata.namespace}`);
  // On the network of the machine the address of an endpoint is that of the machine.
  const slices = names.isRouted === undefined ? [] : names.slicesAt(address);
  const endpoints = slices.flatMap(({ endpoints: all, metadata }) =>
    all
      .filter(({ addresses, hostname }) => hostname !== undefined && addresses.includes(address))
      .map(({ hostname }) => `${hostname}.${metadata.labels?.[SERVICE_NAME_LABEL]}.${metadata.namespace}`),
  );
  const found = [...new Set([...services, ...endpoints])].map((each) => `${each}.svc.${names.domain}`);
  if (found.length === 0) return { kind: 'outside' };
  if (type !== 'PTR' && type !== 'ANY') return NOTHING;
  return { kind: 'records', records: found.map((data) => ({ type: 'PTR', data })) };
}

/** `10-244-1-5.default.pod.cluster.local`: any address has such a name, whether there is a pod or not. */
function ofPod(labels: readonly string[], type: string): Found {
  if (labels.length < 2) return NOTHING;
  const address = labels.length === 2 ? addressOfLabel(labels[0] ?? '') : undefined;
  return address === undefined ? MISSING : records([{ address }], type);
}

interface Place {
  readonly names: KnownNames;
  readonly service: Service;
  /** The whole name of the service. */
  readonly base: string;
}

interface Address {
  readonly address: string;
  /** Below the name of the service. */
  readonly label: string;
  readonly slice: EndpointSlice;
}

const isHeadless = ({ spec }: Service): boolean => spec.clusterIP === 'None';

function ofService({ names, service }: Place, type: string): Found {
  const { spec } = service;
  if (spec.type === 'ExternalName') return { kind: 'alias', target: (spec.externalName ?? '').toLowerCase() };
  if (isHeadless(service)) return records(readyAddresses(names, service), type);
  if (names.isRouted?.(service) === true) return records(clusterAddresses(spec), type);
  const ready = readyAddresses(names, service);
  return records(ready.length === 0 ? nowhereFor(spec) : ready, type);
}

/**
 * A service has a name as soon as it exists. Until it has endpoints, the name resolves to an address that no host may
 * have.
 */
const nowhereFor = (spec: Service['spec']): readonly { readonly address: string }[] =>
  clusterAddresses(spec).map(({ address }) => ({ address: address.includes(':') ? NOWHERE_6 : NOWHERE_4 }));

const clusterAddresses = ({ clusterIPs, clusterIP = '' }: Service['spec']): readonly { readonly address: string }[] =>
  (clusterIPs ?? [clusterIP]).filter((address) => address !== '').map((address) => ({ address }));

/** Documentation (RFC 5737) and discard (RFC 6666) networks: they are never routed. */
const NOWHERE_4 = '192.0.2.0';
const NOWHERE_6 = '100::';

function ofEndpoint({ names, service }: Place, label: string, type: string): Found {
  if (label.startsWith('_')) return NOTHING;
  const own = isHeadless(service) ? readyAddresses(names, service).filter((each) => each.label === label) : [];
  return own.length === 0 ? MISSING : records(own, type);
}

/** `_http._tcp.web.default.svc.cluster.local` */
function ofPort(
  { names, service, base }: Place,
  [portLabel, protocolLabel]: readonly [string, string],
  type: string,
): Found {
  const isAsked = ({ name = '', protocol = 'TCP' }: { name?: string; protocol?: string }): boolean =>
    `_${name}` === portLabel && `_${protocol.toLowerCase()}` === protocolLabel;
  const targets = isHeadless(service)
    ? readyAddresses(names, service).flatMap(({ label, slice }) =>
        (slice.ports ?? []).filter(isAsked).map(({ port = 0 }) => ({ port, target: `${label}.${base}` })),
      )
    : portsOf(names, service, isAsked).map((port) => ({ port, target: base }));
  if (targets.length === 0) return MISSING;
  if (type !== 'SRV' && type !== 'ANY') return NOTHING;
  const unique = new Map(targets.map((each) => [`${each.target}:${each.port}`, each]));
  return { kind: 'records', records: [...unique.values()].map((each) => ({ type: 'SRV', ...each })) };
}

/** The ports of the service, where its cluster address is routed, and without endpoints; else those of the endpoints. */
function portsOf(
  names: KnownNames,
  service: Service,
  isAsked: (port: { name?: string; protocol?: string }) => boolean,
): readonly number[] {
  const own = (service.spec.ports ?? []).filter(isAsked).map(({ port }) => port);
  const listening = readyAddresses(names, service).flatMap(({ slice }) =>
    (slice.ports ?? []).filter(isAsked).flatMap(({ port }) => (port === undefined ? [] : [port])),
  );
  return own.length === 0 || listening.length === 0 || names.isRouted?.(service) === true ? own : listening;
}

function records(addresses: readonly { readonly address: string }[], type: string): Found {
  const all = [...new Set(addresses.map(({ address }) => address))].map((data): FoundRecord => {
    return { type: data.includes(':') ? 'AAAA' : 'A', data };
  });
  return { kind: 'records', records: all.filter((each) => type === 'ANY' || each.type === type) };
}

/** A service that publishes unready endpoints has them marked as ready in the slices. */
function readyAddresses(names: KnownNames, { metadata }: Service): readonly Address[] {
  return names
    .slices(metadata.namespace ?? '', metadata.name ?? '')
    .filter(({ addressType }) => addressType !== 'FQDN')
    .flatMap((slice) =>
      slice.endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses, hostname }) =>
          addresses.map((address) => ({ address, label: hostname ?? address.replaceAll(/[.:]/g, '-'), slice })),
        ),
    );
}
