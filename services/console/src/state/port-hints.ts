import type { ApiObject } from './object.ts';

const HINTS_MAX = 8;
/** A local port below needs rights that most people do not have. */
const FREE_PORTS_FROM = 1_024;
const MOVED_BY = 8_000;

interface PortLike {
  readonly port?: number;
  readonly containerPort?: number;
  readonly protocol?: string;
}

/** Commands that bring the ports of a pod or a Service to the machine of the reader. */
export function portHints({ kind, metadata, spec = {} }: ApiObject): readonly string[] {
  const { name, namespace = '' } = metadata;
  const ports = kind === 'Service' ? listOf(spec['ports']) : kind === 'Pod' ? containerPorts(spec) : [];
  const numbers = ports
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .flatMap(({ port, containerPort }) => port ?? containerPort ?? []);
  return [...new Set(numbers)].slice(0, HINTS_MAX).map((port) => {
    const local = port < FREE_PORTS_FROM ? port + MOVED_BY : port;
    return `kubectl port-forward -n ${namespace} ${kind.toLowerCase()}/${name} ${local}:${port}`;
  });
}

const containerPorts = (spec: NonNullable<ApiObject['spec']>): readonly PortLike[] =>
  (listOf(spec['containers']) as readonly { readonly ports?: unknown }[]).flatMap(({ ports }) => listOf(ports));

const listOf = (value: unknown): readonly PortLike[] => (Array.isArray(value) ? (value as readonly PortLike[]) : []);
