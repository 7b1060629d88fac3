/** What stands in the way of a change of the deployment's plugins, for the operator. */
export class PackageProblem extends Error {}
