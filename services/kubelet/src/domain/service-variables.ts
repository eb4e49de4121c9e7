import type { Service } from '@holdfast/api';
import { setOwn } from '@holdfast/machinery';

/** The API server's own service, for which every pod gets variables. */
const MASTER = { namespace: 'default', name: 'kubernetes' };

/**
 * The variables by which a container finds the services that existed when it started. Those of its own namespace only when
 * the pod wants them (`enableServiceLinks`); a service without a cluster address has none.
 */
export function serviceVariables(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): Record<string, string> {
  const variables: Record<string, string> = {};
  const byName = new Map<string, Service>();
  for (const service of services) {
    const { name = '', namespace: where } = service.metadata;
    if (!hasClusterAddress(service)) continue;
    const isMaster = where === MASTER.namespace && name === MASTER.name;
    // A service of the pod's own namespace goes before the master of the same name.
    if (where === namespace && (enableServiceLinks || isMaster)) byName.set(name, service);
    else if (isMaster && !byName.has(name)) byName.set(name, service);
  }
  for (const name of [...byName.keys()].toSorted()) {
    const service = byName.get(name);
    if (service !== undefined) Object.assign(variables, variablesOf(name, service));
  }
  return variables;
}

export interface ApiPlace {
  readonly host: string;
  readonly port: number;
}

/**
 * Rewrites services for pods without a network of their own, where cluster addresses are not routed: the API gets its
 * listen address.
 */
export const withApiAt = (services: readonly Service[], { host, port }: ApiPlace): readonly Service[] =>
  services.map((service) => {
    const { name, namespace } = service.metadata;
    if (name !== MASTER.name || namespace !== MASTER.namespace) return service;
    const ports = (service.spec.ports ?? []).map((each) => ({ ...each, port }));
    return { ...service, spec: { ...service.spec, clusterIP: host, ports } };
  });

const hasClusterAddress = ({ spec }: Service): boolean => {
  const { clusterIP = '' } = spec;
  return clusterIP !== '' && clusterIP !== 'None';
};

function variablesOf(serviceName: string, { spec }: Service): Record<string, string> {
  const prefix = serviceName.toUpperCase().replaceAll('-', '_');
  const { clusterIP = '', ports = [] } = spec;
  const [first] = ports;
  if (first === undefined) return {};
  const variables: Record<string, string> = {
    [`${prefix}_SERVICE_HOST`]: clusterIP,
    [`${prefix}_SERVICE_PORT`]: String(first.port),
  };
  for (const { name = '', port } of ports) {
    if (name !== '') variables[`${prefix}_SERVICE_PORT_${name.toUpperCase().replaceAll('-', '_')}`] = String(port);
  }
  return { ...variables, ...linkVariables(prefix, clusterIP, ports) };
}

/** The older form, of container links. */
function linkVariables(
  prefix: string,
  clusterIp: string,
  ports: readonly { readonly port: number; readonly protocol?: string }[],
): Record<string, string> {
  const host = clusterIp.includes(':') ? `[${clusterIp}]` : clusterIp;
  const variables: Record<string, string> = {};
  for (const [index, { port, protocol = 'TCP' }] of ports.entries()) {
    const url = `${protocol.toLowerCase()}://${host}:${port}`;
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) variables[`${prefix}_PORT`] = url;
    setOwn(variables, link, url);
    variables[`${link}_PROTO`] = protocol.toLowerCase();
    variables[`${link}_PORT`] = String(port);
    variables[`${link}_ADDR`] = clusterIp;
  }
  return variables;
}
