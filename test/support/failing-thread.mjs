// For `node --require`, which also applies to threads: the HTTP thread fails.
import { isMainThread, workerData } from 'node:worker_threads';

if (!isMainThread && /apiserver.src.front./.test(String(workerData?.entry))) throw new Error('broken on purpose');
