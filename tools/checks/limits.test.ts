import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NATS_MAX_PAYLOAD_BYTES } from '../../libs/bus/src/limits.ts';
import * as client from '../../libs/client/src/limits.ts';
import { NODE_MONITOR_GRACE_SETTING } from '../../libs/client/src/node-monitor-grace.ts';
import { MAX_BATCH_OPERATIONS } from '../../libs/store/src/limits.ts';
import * as server from '../../services/apiserver/src/limits.ts';
import { HEARTBEAT_INTERVAL_MS } from '../../services/apiserver/src/relay/limits.ts';
import { LEASE_DURATION_SECONDS, LEASE_RENEW_MS } from '../../services/kubelet/src/limits.ts';
import { STREAM_IDLE_MS } from '../../services/kubelet/src/streaming/limits.ts';

/** Relations between limits of rooms that do not import each other. Those of one room are in its `limits.ts`. */
const RELATIONS: Readonly<Record<string, boolean>> = {
  'a client hears of a bus that lost three heartbeats': client.BUS_HEARTBEAT_TIMEOUT_MS > 3 * HEARTBEAT_INTERVAL_MS,
  'a page of a list is not older than the history': client.LIST_PAGE_OBJECTS <= server.EVENTS_KEPT_PER_RESOURCE,
  'one write does not replace the history': MAX_BATCH_OPERATIONS < server.EVENTS_KEPT_PER_RESOURCE,
  'a queued request is answered before its client gives up': server.QUEUE_WAIT_MS < client.REQUEST_DEADLINE_MS,
  'a consistent read is answered in time': server.CONSISTENT_READ_TIMEOUT_MS < client.REQUEST_DEADLINE_MS,
  'a watch without changes has a bookmark in time': server.BOOKMARK_INTERVAL_MS < client.WATCH_IDLE_MS,
  'the largest object fits into a line of a watch': server.OBJECT_BYTES_MAX < client.WATCH_LINE_BYTES_MAX,
  'the largest object fits into a message': server.OBJECT_BYTES_MAX < NATS_MAX_PAYLOAD_BYTES,
  'a lease ends before its node is unknown': LEASE_DURATION_SECONDS <= NODE_MONITOR_GRACE_SETTING.default,
  'a node renews its lease within the shortest grace': LEASE_RENEW_MS < NODE_MONITOR_GRACE_SETTING.min * 1_000,
  'the server keeps a stream as long as the node': STREAM_IDLE_MS <= server.UPGRADED_IDLE_MS,
};

test('tree: the limits of rooms fit each other', () => {
  const broken = Object.entries(RELATIONS).filter(([, holds]) => !holds);
  assert.deepEqual(
    broken.map(([relation]) => relation),
    [],
  );
});
