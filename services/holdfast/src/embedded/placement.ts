import { type ApiHandler, type ApiRequest, type ApiResponse, jsonOf } from '@holdfast/client';
import { type PlacementReport, placementPodOf } from '@holdfast/client/why';
import { StatusError } from '@holdfast/machinery';
import type { Service } from '@holdfast/platform';

/** The part of a scheduler that knows why pods wait. */
export interface PlacementSource {
  placementOf(namespace: string, name: string): PlacementReport | undefined;
}

/** The scheduler that runs now, for readers in the API. A killed one is followed by another. */
export class PlacementDesk {
  #source: PlacementSource | undefined;

  get source(): PlacementSource | undefined {
    return this.#source;
  }

  /** The service, which is the source while it runs. */
  staffedBy(service: Service, source: PlacementSource): Service {
    return {
      name: service.name,
      start: async () => {
        await service.start();
        this.#source = source;
      },
      stop: () => {
        if (this.#source === source) this.#source = undefined;
        return service.stop();
      },
    };
  }
}

/** The scheduler's reasons beside the API: who may read a pod, may read why it has no node. */
export const createPlacementHandler =
  ({ desk, handle }: { readonly desk: PlacementDesk; readonly handle: ApiHandler }): ApiHandler =>
  async (request) => {
    const pod = placementPodOf(request.path);
    if (pod === undefined || request.method !== 'GET') return handle(request);
    // The API server says who asks and whether he may, and records it, as for any read of the pod.
    const read = await handle(readOf(request, `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}`));
    if (read.status !== 200) return read;
    const { source } = desk;
    if (source === undefined)
      return refusal(503, 'ServiceUnavailable', 'the scheduler does not run now: try again later');
    const report = source.placementOf(pod.namespace, pod.name);
    const { metadata } = jsonOf(read) as { readonly metadata?: { readonly uid?: string } };
    if (report !== undefined && report.pod.uid === metadata?.uid) return json(200, report);
    return refusal(404, 'NotFound', `pod "${pod.name}" does not wait for a node after a refusal of the scheduler`);
  };

/** The same caller reads the pod. */
const readOf = ({ headers, connection, signal }: ApiRequest, path: string): ApiRequest => ({
  method: 'GET',
  path,
  query: new URLSearchParams(),
  headers: { ...headers, accept: 'application/json' },
  ...(connection === undefined ? {} : { connection }),
  ...(signal === undefined ? {} : { signal }),
});

const refusal = (code: number, reason: 'NotFound' | 'ServiceUnavailable', message: string): ApiResponse =>
  json(code, new StatusError({ code, reason, message }).body);

const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});
