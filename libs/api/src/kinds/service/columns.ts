import { ageColumn, labelMapText, NONE, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import type { Service, ServicePort } from '../../generated/types.ts';
import type { Column } from '../../resource.ts';

export const serviceColumns: readonly Column<Service>[] = [
  nameColumn,
  textColumn('Type', 'How the service can be reached', (service) => service.spec.type ?? ''),
  textColumn('Cluster-IP', 'The first address inside the cluster', (service) => service.spec.clusterIPs?.[0] ?? NONE),
  textColumn('External-IP', 'Addresses outside the cluster', externalIps),
  textColumn('Port(s)', 'The ports of the service', (service) => portsText(service.spec.ports ?? [])),
  ageColumn,
  wide(textColumn('Selector', 'The pods behind the service', (service) => labelMapText(service.spec.selector))),
];

function externalIps({ spec, status }: Readonly<Service>): string {
  const own = (spec.externalIPs ?? []).join(',');
  switch (spec.type ?? '') {
    case 'ExternalName':
      return spec.externalName ?? '';
    case 'LoadBalancer': {
      const points = (status.loadBalancer.ingress ?? []).map((ingress) => ingress.ip || ingress.hostname || '');
      const balanced = [...new Set(points)].filter((text) => text !== '').toSorted();
      const all = [...balanced, own].filter((text) => text !== '').join(',');
      return all === '' ? '<pending>' : all;
    }
    case 'ClusterIP':
    case 'NodePort':
      return own === '' ? NONE : own;
    default:
      return '<unknown>';
  }
}

function portsText(ports: readonly ServicePort[]): string {
  if (ports.length === 0) return NONE;
  return ports
    .map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol ?? ''}`)
    .join(',');
}
