import type { Plugin } from '../framework/plugin.ts';
import { createInterPodAffinity } from './inter-pod-affinity.ts';
import { createNodeAffinity } from './node-affinity.ts';
import { createNodeName } from './node-name.ts';
import { createNodePorts } from './node-ports.ts';
import { createNodeResourcesBalanced } from './node-resources-balanced.ts';
import { createNodeResourcesFit } from './node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable.ts';
import { createPodTopologySpread } from './pod-topology-spread.ts';
import { createSchedulingGates } from './scheduling-gates.ts';
import { createTaintToleration } from './taint-toleration.ts';

/** In the order in which they check a node: the first that rejects it gives the reason. */
export const createDefaultPlugins = (): readonly Plugin[] => [
  createSchedulingGates(),
  createNodeUnschedulable(),
  createNodeName(),
  createTaintToleration(),
  createNodeAffinity(),
  createNodePorts(),
  createNodeResourcesFit(),
  createPodTopologySpread(),
  createInterPodAffinity(),
  createNodeResourcesBalanced(),
];
