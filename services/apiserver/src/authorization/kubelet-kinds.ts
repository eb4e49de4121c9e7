import {
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  CSI_DRIVERS,
  CSI_NODES,
  ENDPOINTS,
  EVENTS,
  EVENTS_EVENTS_V1,
  LEASES,
  LOCAL_SUBJECT_ACCESS_REVIEWS,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  RUNTIME_CLASSES,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  SUBJECT_ACCESS_REVIEWS,
  TOKEN_REVIEWS,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import type { ResourceRequest } from '../http/request-info.ts';

/** All that the rights of a kubelet are about. */
const KINDS = [
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  CSI_DRIVERS,
  CSI_NODES,
  ENDPOINTS,
  EVENTS,
  EVENTS_EVENTS_V1,
  LEASES,
  LOCAL_SUBJECT_ACCESS_REVIEWS,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  RUNTIME_CLASSES,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  SUBJECT_ACCESS_REVIEWS,
  TOKEN_REVIEWS,
  VOLUME_ATTACHMENTS,
] as const;

const nameOf = (group: string, resource: string): string => `${group}/${resource}`;

const NAMES: ReadonlySet<string> = new Set(KINDS.map(({ group, plural }) => nameOf(group, plural)));

/** A custom kind may have the plural of a built-in one: the services of a mesh are no business of a kubelet. */
export const isKubeletKind = ({ group, resource }: ResourceRequest): boolean => NAMES.has(nameOf(group, resource));
