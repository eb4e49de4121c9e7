export {
  type AccessAttributes,
  type AccessReviews,
  type AccessVerdict,
  bearerTokenOf,
  type Caller,
  createAccessReviews,
} from './access-reviews.ts';
export { type ApiClientOptions, createApiClient } from './api-client.ts';
export { API_SERVER_CLIENT, isReservedSubject } from './api-server-identity.ts';
export { type Backoff, createBackoff } from './backoff.ts';
export { Causes } from './causes.ts';
export {
  type Controller,
  type ControllerCounters,
  type ControllerOptions,
  createController,
  type Reconcile,
} from './controller.ts';
export { jsonOf, revisionOf, statusErrorOf } from './decode.ts';
export { createEventRecorder, type EventRecorderOptions, type RunningEventRecorder } from './event-recorder.ts';
export { HAD_SEEN_HEADER, shareSeen } from './had-seen.ts';
export { createInformer, type InformerOptions } from './informer/informer.ts';
export { type IndexFunction, keyOf } from './informer/object-cache.ts';
export { createLeaderElector, type LeaderElector, type LeaderElectorOptions } from './leader-elector.ts';
export type {
  ApiClient,
  DeleteRequest,
  DiscoveredResource,
  EventRecorder,
  EventText,
  Informer,
  InformerChange,
  KubeList,
  ListSelection,
  PatchType,
  ReconcileResult,
  Target,
  TypedWatchEvent,
  WorkQueue,
} from './port.ts';
export { collectionPath, objectPath } from './resource-path.ts';
export { NOTHING_SEEN, SEEN_ANNOTATION, SEEN_HEADER } from './seen.ts';
export { createDirectTransport } from './transport/direct.ts';
export {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  type HttpMethod,
  type JsonPieces,
  type ResponseBody,
  TransportError,
  type WatchEvent,
  type WatchFrame,
} from './transport/port.ts';
export { wholeAnswer } from './whole-answer.ts';
export { createWorkQueue, type WorkQueueOptions } from './work-queue.ts';
