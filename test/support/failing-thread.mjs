// For `node --require`, which threads get as well: the thread that speaks HTTP fails.
import { isMainThread, workerData } from 'node:worker_threads';

if (!isMainThread && String(workerData?.entry).includes('apiserver/src/front/')) throw new Error('broken on purpose');
