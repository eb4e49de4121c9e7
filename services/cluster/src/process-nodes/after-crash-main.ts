// The process of the cluster ended without a stop: ends the processes of its pods and removes the folder of its nodes.
import { endNodes } from './end-nodes.ts';

const [folder] = process.argv.slice(2);
if (folder !== undefined) await endNodes(folder);
