import type { Service } from '@holdfast/api';
import { claimCompanion } from '../../allocation/claim-companion.ts';
import { settleFamilies } from '../../allocation/ip-families.ts';
import { settleRequests } from '../../allocation/requests.ts';
import { serviceAllocator } from '../../allocation/service-allocator.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore } from '../port.ts';

/** Services get their addresses and node ports in the write that stores them, and give them back when they are removed. */
export const createServiceAllocation = (deps: AdmissionDeps): AdmissionPlugin => {
  const allocator = serviceAllocator(deps);
  return {
    name: 'ServiceAllocation',
    handles: (request) => isCore(request, 'services'),
    settle: (request) => {
      const service = asService(request.object);
      if (service === undefined || request.subresource !== '') return;
      const old = asService(request.old);
      settleFamilies(service, old);
      settleRequests(service, old, deps.serviceAddresses);
    },
    validate: (request) => request.accompany(claimCompanion(allocator, deps.claims, request)),
  };
};

const asService = (object: AdmissionRequest['object']): Service | undefined => object as Service | undefined;
