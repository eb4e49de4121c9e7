import type { HostAlias, Pod, PodDNSConfig } from '@holdfast/api';
import { HOST_NAME_MAX } from '../limits.ts';

/** This node's DNS settings for the cluster. */
export interface ClusterDns {
  /** `cluster.local` */
  readonly domain: string;
  /** Servers for names of services. Empty: pods use the machine's resolver. */
  readonly servers: readonly string[];
  /** Those of pods with a network of their own. Absent: the same. */
  readonly serversOfOwnNetworks?: readonly string[];
}

const serversOf = ({ spec }: Pod, { servers, serversOfOwnNetworks = servers }: ClusterDns): readonly string[] =>
  spec.hostNetwork === true ? servers : serversOfOwnNetworks;

export const NO_CLUSTER_DNS: ClusterDns = { domain: 'cluster.local', servers: [] };

export interface PodNames {
  readonly hostname: string;
  /** Only a pod of a subdomain has one. */
  readonly fqdn: string | undefined;
}

/** The name is longer than the kernel takes (`setHostnameAsFQDN`). */
export class HostNameError extends Error {
  override readonly name = 'HostNameError';
}

/** POD-08. The pod's hostname, and its name in the cluster. */
export function podNames(pod: Pod, nodeHostname: string, { domain }: ClusterDns): PodNames {
  const { spec, metadata } = pod;
  if (spec.hostNetwork === true) return { hostname: nodeHostname, fqdn: undefined };
  const own = spec.hostname ?? '';
  const hostname =
    own === ''
      ? (metadata.name ?? '').slice(0, HOST_NAME_MAX).replace(/[-.]+$/, '')
      : own.slice(0, HOST_NAME_MAX).replace(/[-.]+$/, '');
  const subdomain = spec.subdomain ?? '';
  const fqdn = subdomain === '' ? undefined : `${hostname}.${subdomain}.${metadata.namespace ?? ''}.svc.${domain}`;
  return { hostname, fqdn };
}

/** The kernel's host name: the full one only when the pod asks for it, and never one that the kernel would cut. */
export function kernelHostName({ spec }: Pod, { hostname, fqdn }: PodNames): string {
  if (spec.setHostnameAsFQDN !== true || fqdn === undefined) return hostname;
  if (fqdn.length <= HOST_NAME_MAX + 1) return fqdn;
  throw new HostNameError(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ` +
      `(${HOST_NAME_MAX + 1} characters is the max, ${fqdn.length} characters requested)`,
  );
}

const LOCAL_NAMES = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** `/etc/hosts` of a pod; one on the machine's own network keeps what the machine has. */
export function hostsFile(pod: Pod, podIp: string, names: PodNames, machineText: string): string {
  const aliases = aliasLines(pod.spec.hostAliases ?? []);
  if (pod.spec.hostNetwork === true) {
    return `# Kubernetes-managed hosts file (host network).\n${machineText}${aliases}`;
  }
  const own = [podIp, ...(names.fqdn === undefined ? [] : [names.fqdn]), names.hostname].join('\t');
  const lines = ['# Kubernetes-managed hosts file.', ...LOCAL_NAMES, ...(podIp === '' ? [] : [own])];
  return `${lines.join('\n')}\n${aliases}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}

interface Resolver {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** `/etc/resolv.conf` of a pod; `undefined`: the machine's own serves. */
export function resolvConf(pod: Pod, dns: ClusterDns, machineText: string): string | undefined {
  const { dnsPolicy = 'ClusterFirst', dnsConfig, hostNetwork } = pod.spec;
  const clusterFirst =
    dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && hostNetwork !== true);
  const asksCluster = clusterFirst && serversOf(pod, dns).length > 0;
  if (!asksCluster && dnsPolicy !== 'None' && dnsConfig === undefined) return undefined;
  const machine = readResolver(machineText);
  const base = dnsPolicy === 'None' ? EMPTY : asksCluster ? clusterResolver(pod, dns, machine) : machine;
  return writeResolver(merge(base, dnsConfig ?? {}));
}

/** True when the pod wants cluster DNS and this node has no server for it. */
export function missesClusterDns({ spec }: Pod, dns: ClusterDns): boolean {
  return spec.dnsPolicy === 'ClusterFirstWithHostNet' && dns.servers.length === 0;
}

const EMPTY: Resolver = { servers: [], searches: [], options: [] };

function clusterResolver(pod: Pod, dns: ClusterDns, machine: Resolver): Resolver {
  const { domain } = dns;
  const own = [`${pod.metadata.namespace ?? ''}.svc.${domain}`, `svc.${domain}`, domain];
  return { servers: serversOf(pod, dns), searches: unique([...own, ...machine.searches]), options: ['ndots:5'] };
}

/** Servers and searches are added, an option of the same name is replaced. */
function merge(base: Resolver, { nameservers = [], searches = [], options = [] }: PodDNSConfig): Resolver {
  const own = options.map(({ name = '', value }) => (value === undefined ? name : `${name}:${value}`));
  const replaced = new Set(own.map(nameOfOption));
  return {
    servers: unique([...base.servers, ...nameservers]),
    searches: unique([...base.searches, ...searches]),
    options: [...base.options.filter((option) => !replaced.has(nameOfOption(option))), ...own],
  };
}

const nameOfOption = (option: string): string => option.split(':')[0] ?? option;
const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];

export function readResolver(text: string): Resolver {
  const resolver = { servers: [] as string[], searches: [] as string[], options: [] as string[] };
  for (const line of text.split('\n')) {
    const [word = '', ...rest] = line.trim().split(/\s+/);
    if (word === 'nameserver') resolver.servers.push(...rest.slice(0, 1));
    // Each line of these replaces the one before, as in the C library.
    if (word === 'search') resolver.searches = rest;
    if (word === 'options') resolver.options = rest;
  }
  return resolver;
}

function writeResolver({ servers, searches, options }: Resolver): string {
  const line = (word: string, texts: readonly string[]): string =>
    texts.length === 0 ? '' : `${word} ${texts.join(' ')}\n`;
  return `${line('search', searches)}${servers.map((server) => `nameserver ${server}\n`).join('')}${line('options', options)}`;
}
