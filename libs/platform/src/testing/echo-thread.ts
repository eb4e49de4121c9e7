import { parentPort } from 'node:worker_threads';
import { describeError } from '../errors.ts';
import { threadData } from '../thread-data.ts';

const described: string = describeError(new Error('outer', { cause: new Error('inner') }));
parentPort?.postMessage({ data: threadData(), described });
