import type { Service } from '@holdfast/api';
import { forbiddenError } from '@holdfast/machinery';
import { type AdmissionDeps, type AdmissionPlugin, isCore, subjectOfRequest } from '../port.ts';

const NAME = 'DenyServiceExternalIPs';

/** A service names no new external address: whoever names one receives what others send to it. Those that it has may stay. */
export const createDenyServiceExternalIps = ({ optionalPlugins }: AdmissionDeps): AdmissionPlugin => ({
  name: NAME,
  handles: (request) =>
    optionalPlugins.has(NAME) &&
    isCore(request, 'services') &&
    request.operation !== 'DELETE' &&
    request.subresource === '',
  validate: (request) => {
    const kept = new Set(externalIps(request.old));
    if (externalIps(request.object).every((address) => kept.has(address))) return;
    throw forbiddenError(subjectOfRequest(request), 'Use of external IPs is denied by admission control');
  },
});

const externalIps = (object: object | undefined): readonly string[] =>
  (object as Service | undefined)?.spec.externalIPs ?? [];
