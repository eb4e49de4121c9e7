// For `node --require`, which also applies to threads: the HTTP thread fails.
import { isMainThread, workerData } from 'node:worker_threads';

if (!isMainThread && String(workerData?.entry).includes('apiserver/src/front/')) throw new Error('broken on purpose');
