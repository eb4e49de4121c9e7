import { qualifiedNameErrors } from './formats.ts';

/** Resource names of Kubernetes: which are native, which are counted in integers, which may be overcommitted. */
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const REQUESTS_AND_LIMITS = COMPUTE.flatMap((name) => [`requests.${name}`, `limits.${name}`]);
const OBJECT_COUNTS = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];

const CONTAINER_RESOURCES: ReadonlySet<string> = new Set(COMPUTE);
const QUOTA_RESOURCES: ReadonlySet<string> = new Set([
  ...COMPUTE,
  ...REQUESTS_AND_LIMITS,
  ...OBJECT_COUNTS,
  'requests.storage',
]);
const STANDARD_RESOURCES: ReadonlySet<string> = new Set([...QUOTA_RESOURCES, 'storage']);
const INTEGER_RESOURCES: ReadonlySet<string> = new Set(OBJECT_COUNTS);

const HUGE_PAGES = 'hugepages-';

export const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES);
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith(`requests.${HUGE_PAGES}`);

export const isStandardResource = (name: string): boolean => STANDARD_RESOURCES.has(name) || isQuotaHugePages(name);
export const isStandardContainerResource = (name: string): boolean =>
  CONTAINER_RESOURCES.has(name) || isHugePages(name);
export const isStandardQuotaResource = (name: string): boolean => QUOTA_RESOURCES.has(name) || isQuotaHugePages(name);

export const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** True for a vendor's resource: counted in integers. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}

export const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !isHugePages(name);
export const isIntegerResource = (name: string): boolean => INTEGER_RESOURCES.has(name) || isExtendedResource(name);

/** `hugepages-2Mi` -> `2Mi` */
export const hugePageSize = (name: string): string => name.slice(HUGE_PAGES.length);
