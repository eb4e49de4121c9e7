export {
  type Bus,
  type BusMessage,
  BusUnavailable,
  type ChangeEvent,
  type Departure,
  type Heartbeat,
  type Notes,
  OutOfPlace,
  type Retained,
  type SharedChange,
  type SubscribeOptions,
  type Subscription,
} from './port.ts';
export {
  changeChannel,
  changeSubject,
  channelOf,
  HEARTBEAT_SUBJECT,
  matchesSubject,
  nodePodsPattern,
  onlyChannelOf,
  pendingPodsPattern,
  resourcePattern,
  type SubjectOf,
} from './subjects.ts';
export { traceDelivery } from './traced-bus.ts';
