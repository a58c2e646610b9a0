// NVTX as this project uses it: the names, values and signatures of NVIDIA's nvtx3/nvToolsExt.h, declared for the virtual GPU.
//
// A program names ranges of its host threads' time; a tool that was attached before the program's first call receives them. Without a tool
// a domain is null and every call returns at once. See simulator/gpu/nvtx for the virtual GPU's listener.
#ifndef LOCKSTEP_SIM_NVTX_H
#define LOCKSTEP_SIM_NVTX_H

#include <stdint.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE (static_cast<uint16_t>(sizeof(nvtxEventAttributes_t)))
#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)

#ifdef __cplusplus
extern "C" {
#endif

// Ranges of one library, apart from all others'.
struct nvtxDomainRegistration_st;
typedef struct nvtxDomainRegistration_st nvtxDomainRegistration;
typedef nvtxDomainRegistration* nvtxDomainHandle_t;
struct nvtxStringRegistration_st;
typedef struct nvtxStringRegistration_st nvtxStringRegistration;
typedef nvtxStringRegistration* nvtxStringHandle_t;

typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
  NVTX_MESSAGE_UNKNOWN = 0,
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3
} nvtxPayloadType_t;

typedef union nvtxMessageValue_t {
  const char* ascii;
  const wchar_t* unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;

// What is said about a range: a name, a number, a colour.
typedef struct nvtxEventAttributes_v2 {
  uint16_t version;  // NVTX_VERSION
  uint16_t size;     // NVTX_EVENT_ATTRIB_STRUCT_SIZE
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType;
  int32_t reserved0;
  union payload_t {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;

nvtxDomainHandle_t nvtxDomainCreateA(const char* name);
// The depth of the range on this thread, from 0; or NVTX_NO_PUSH_POP_TRACKING, which is below 0, where no tool is attached.
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* eventAttrib);
int nvtxDomainRangePop(nvtxDomainHandle_t domain);
void nvtxNameOsThreadA(uint32_t threadId, const char* name);

#ifdef __cplusplus
}
#endif

#endif
