/** Loads the installed nodes for Node-RED, and prints their names without `voice-calling-`. */
const names = [];
const RED = { nodes: { createNode() {}, registerType: (name) => names.push(name.replace('voice-calling-', '')) }, httpNode: {}, settings: {} };
const folder = './node_modules/@voice-calling/node-red/';
for (const file of Object.values(require(`${folder}package.json`)['node-red'].nodes)) require(folder + file)(RED);
console.log(names.sort().join(' '));
